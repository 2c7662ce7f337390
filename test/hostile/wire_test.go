// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// An empty request names nothing: it is refused by all methods that need a path or volume, and means disk 0 to those
// that take a disk.
func TestEmptyRequests(t *testing.T) {
	g := attack(t, testnode.Options{})
	before := g.snapshot()
	for _, m := range methods(t) {
		want := codes.InvalidArgument
		if len(m.fields) == 0 || m.fields[0].kind == kindDisk {
			want = codes.OK
		}
		if m.name == "SetDiskState" || m.name == "PartitionDisk" { // the system disk, offline
			want = codes.FailedPrecondition
		}
		_, err := g.call(t.Context(), m, nil)
		wantCode(t, m, err, want)
		before = g.unchanged(m, before)
	}
	g.alive()
}

// Strings that are not UTF-8 do not get past protobuf, and generated clients do not send them: the caller is told
// that the request is at fault, not the agent.
func TestInvalidUTF8(t *testing.T) {
	g := attack(t, testnode.Options{})
	before := g.snapshot()
	isText := func(k kind) bool { return k.isPath() || k.isVolume() }
	for name, text := range map[string]string{
		"a lone byte":         pods + `\` + "\xff",
		"overlong dots":       pods + `\` + "\xc0\xae\xc0\xae" + `\x`,
		"overlong backslash":  pods + "\xc1\x9c" + `x`,
		"an unpaired half":    pods + `\` + "\xed\xa0\x80",
		"cut off":             pods + `\` + "\xf0\x9f\x98",
		"a NUL in two bytes":  pods + `\` + "\xc0\x80",
		"beyond Unicode":      pods + `\` + "\xf4\x90\x80\x80",
		"a volume id, broken": g.volume[:8] + "\xfe" + g.volume[9:],
	} {
		g.eachField(isText, func(m method, f field, request values) {
			request[f.name] = text
			_, err := g.call(t.Context(), m, m.encode(t, request))
			wantCode(t, fmt.Sprintf("%v, %s: %s", m, f.name, name), err, codes.InvalidArgument)
		})
		before = g.unchanged(name, before)
	}
	g.alive()
}

// Bytes that are not a message, or too many of them.
func TestMalformedMessages(t *testing.T) {
	g := attack(t, testnode.Options{})
	before := g.snapshot()
	deep := []byte{}
	for range 20000 {
		deep = append(deep, 0x0b) // a group in a group in a group
	}
	for name, c := range map[string]struct {
		request []byte
		want    codes.Code
	}{
		"a cut-off length":        {[]byte{0x0a, 0xff}, codes.InvalidArgument},
		"a length beyond the end": {[]byte{0x0a, 0x7f, 'C', ':'}, codes.InvalidArgument},
		"a negative length": {[]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
			codes.InvalidArgument},
		"an endless varint":      {bytes.Repeat([]byte{0xff}, 32), codes.InvalidArgument},
		"field number 0":         {[]byte{0x02, 0x00}, codes.InvalidArgument},
		"wire type 7":            {[]byte{0x0f, 0x00}, codes.InvalidArgument},
		"an end without a group": {[]byte{0x0c}, codes.InvalidArgument},
		"groups 20000 deep":      {deep, codes.InvalidArgument},
		"5 MiB": {protowire.AppendBytes(protowire.AppendTag(nil, 900, protowire.BytesType),
			make([]byte, 5<<20)), codes.ResourceExhausted},
	} {
		for _, m := range methods(t) {
			_, err := g.call(t.Context(), m, c.request)
			wantCode(t, fmt.Sprintf("%v with %s", m, name), err, c.want)
		}
		before = g.unchanged(name, before)
	}
	// Unknown fields are skipped, however many there are; the last value of a repeated field counts.
	for _, m := range methodsNamed(t, "PathExists") {
		request := protowire.AppendBytes(protowire.AppendTag(nil, 536870911, protowire.BytesType), make([]byte, 32<<10))
		request = append(request, m.encode(t, values{"path": `C:\Windows`})...)
		request = append(request, m.encode(t, values{"path": pods})...)
		reply, err := g.call(t.Context(), m, request)
		wantCode(t, m, err, codes.OK)
		if want := []byte{0x08, 0x01}; !bytes.Equal(reply, want) {
			t.Errorf("%v answers %x, want %x", m, reply, want)
		}
		request = append(request, m.encode(t, values{"path": `C:\Windows`})...)
		_, err = g.call(t.Context(), m, request)
		wantCode(t, "a refused path behind an accepted one", err, codes.InvalidArgument)
	}
	g.unchanged("fields repeated", before)
	g.alive()
}

// A method on the socket of another version or group, or an unknown method, is not served.
func TestMethodsElsewhere(t *testing.T) {
	g := attack(t, testnode.Options{})
	before := g.snapshot()
	all := methods(t)
	for _, m := range all {
		for _, api := range apis() {
			if slices.ContainsFunc(all, func(o method) bool {
				return o.path == m.path && o.group == api.group &&
					o.version == api.version
			}) {
				continue
			}
			elsewhere := m
			elsewhere.group, elsewhere.version = api.group, api.version
			_, err := g.call(t.Context(), elsewhere, m.encode(t, g.harmless(m)))
			wantCode(t, fmt.Sprintf("%v on the socket of %s %s", m, api.group, api.version), err, codes.Unimplemented)
		}
	}
	for _, path := range []string{"/v1.Disk/", "/v1.Disk/partitionDisk", "/v1.Disk/PartitionDisk/",
		"/V1.Disk/PartitionDisk", "/v1.Disk/../v1.Disk/PartitionDisk",
		"/csiproxy.emulated.v1alpha1.EmulatedNode/DetachDisk"} {
		m := method{group: "disk", version: "v1", path: path}
		_, err := g.call(t.Context(), m, []byte{0x08, 0x01})
		wantCode(t, path, err, codes.Unimplemented)
	}
	g.unchanged("methods on other sockets", before)
	g.alive()
}

// Clients that do not speak HTTP/2, send nothing or send too much metadata delay no other client.
func TestOddConnections(t *testing.T) {
	g := attack(t, testnode.Options{})
	socket := g.Socket("filesystem", "v2alpha1")
	for _, greeting := range []string{"", "GET / HTTP/1.1\r\nHost: x\r\n\r\n",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff", string(make([]byte, 64<<10)),
		"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"} {
		for range 20 {
			conn, err := testnode.DialRaw(t.Context(), socket)
			noError(t, err)
			t.Cleanup(func() { _ = conn.Close() })
			noError(t, conn.SetWriteDeadline(time.Now().Add(10*time.Second)))
			_, _ = conn.Write([]byte(greeting)) // the agent may have hung up already
		}
	}
	for _, m := range methodsNamed(t, "PathExists") {
		ctx := metadata.AppendToOutgoingContext(t.Context(), "x-large", string(bytes.Repeat([]byte("a"), 256<<10)))
		if _, err := g.call(ctx, m, m.encode(t, values{"path": pods})); err == nil {
			t.Error("256 KiB of metadata are accepted")
		}
		_, err := g.call(t.Context(), m, m.encode(t, values{"path": pods}))
		wantCode(t, "a call after odd connections", err, codes.OK)
	}
	g.alive()
}
