// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"math"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// attack sends a method requests that no honest caller sends, and asserts that they are refused and that nothing has
// changed.
func attack(d *driver, m *method) {
	number, id, at := d.mounted()
	harmless := values{
		disk: number, volume: id, path: pods + `\harmless`, source: pods + `\source`,
		partition: uint32(2), size: int64(0), online: true, force: true, diskName: "none",
		remote: `\\fs.emulated\share`, local: pods + `\harmless`, user: "csi", password: "csi-password",
		portal: address{"192.0.2.99", 0}, target: openTarget, mutualSecret: "mutual-secret1", serviceName: "Spooler",
	}
	if m.operation == "Expand" {
		harmless[path] = at // what is not mounted has no size
	}
	for what, value := range map[meaning]any{serial: "none", page83: "none", ebsVolume: "vol-0", gceDevice: "none",
		eui64: uint64(1), diskUUID: "none", model: "none"} {
		if f := m.field(what); f != nil && f.ContainingOneof() != nil {
			harmless[what] = value
		}
	}
	before := d.state()
	for what := range harmless {
		f := m.field(what)
		if f == nil {
			continue
		}
		for _, bad := range badValues(m, f, what) {
			v := values{what: bad.value}
			for other, value := range harmless {
				if g := m.field(other); other != what && g != nil &&
					(g.ContainingOneof() == nil || f.ContainingOneof() == nil && other == disk) {
					v[other] = value
				}
			}
			_, err := d.call(m.operation, v)
			text := fmt.Sprint(bad.value)
			text = fmt.Sprintf("%v with the %s %q", m, what, text[:min(len(text), 100)])
			wantCode(d.t, text, err, bad.want)
			if err != nil && (len(err.Error()) > 5000 || strings.ContainsAny(err.Error(), "\x00\n\x1b")) {
				d.t.Errorf("%s: the error has %d bytes, or control characters", text, len(err.Error()))
			}
		}
	}
	d.checkBytes(m)
	same(d.t, d.state(), before)
	d.intact(at)
}

type badValue struct {
	value any
	want  codes.Code
}

func badValues(m *method, f protoreflect.FieldDescriptor, what meaning) (all []badValue) {
	bad := func(want codes.Code, some ...any) {
		for _, value := range some {
			all = append(all, badValue{value, want})
		}
	}
	const long = 8 << 10
	switch what {
	case disk:
		bad(codes.NotFound, unknownDisk, uint32(math.MaxUint32))
		if f.Kind() == protoreflect.StringKind {
			bad(codes.InvalidArgument, "", " ", "x", "-1", "+1", "1 ", " 1", "1\x00", "0x1", "1e0", "1.0", "1_0", "１",
				"4294967296", "4294967297",
				"18446744073709551617", `\\.\PhysicalDrive1`, "1; Clear-Disk 1", "*", strings.Repeat("9", long))
		}
	case diskName:
		bad(codes.InvalidArgument, "")
		bad(codes.NotFound, " ", "*", "%", "' OR '1'='1", "EMULATED  disk-2\x00", `\\.\PhysicalDrive0`,
			strings.Repeat("A", long))
	case serial, page83, model:
		bad(codes.InvalidArgument, "", strings.Repeat("a", 4*long))
	case ebsVolume:
		bad(codes.InvalidArgument, "", "x", "vol-", "vol-xyz", "vol-0123456789abcdef0\x00", strings.Repeat("vol-0", long))
	case gceDevice:
		bad(codes.InvalidArgument, "", " ", "a b", "a\x00 b", strings.Repeat("a", 4*long))
	case eui64:
		bad(codes.InvalidArgument, uint64(0))
	case diskUUID:
		bad(codes.InvalidArgument, "", "x", "6000C29a-98d0-5e38-4a43-f0ef189aaf5", strings.Repeat("6", long))
	case volume:
		bad(codes.InvalidArgument, "", " ", `\`, "*", "x", "-1", "1\x00", `\\?\Volume{}\`,
			`\\?\Volume{zzzzzzzz-9abc-def0-1234-56789abcdef0}\`, unknownVolume+`..\..\Windows`,
			unknownVolume+"\x00", unknownVolume+`\`, ` `+unknownVolume, `\\?\`+unknownVolume, `\\.\PhysicalDrive0`, `C:\`, pods,
			`' OR 1=1 --`, "99999999999999999999",
			strings.Repeat(unknownVolume, 2), strings.Repeat("A", long))
		if m.operation != "UnmountVolume" { // which looks at the path, where nothing is mounted
			bad(codes.NotFound, unknownVolume)
		}
	case path, source:
		bad(codes.InvalidArgument, "", " ", ".", "..", `pods`, `C:`, `C:pods`, kubelet+`\..\..\..\Windows`, pods+`\..`,
			pods+`\x\..\y`, pods+"\\a\x00b", kubelet+"\x00",
			`C:\Windows`, `\Windows`, `C:\`, `C:\var\lib\kubelet-evil\x`, `D:\var\lib\kubelet\x`, `\\server\share`,
			`\\?\`+pods+`\x`, `\\.\PhysicalDrive0`, `\\.\pipe\csi-proxy-disk-v1`,
			pods+`\NUL`, pods+`\COM1.txt`, pods+`\a:b`, pods+`\a::$DATA`, pods+`\ABCDEF~1`, pods+`\x.`, pods+`\x `, pods+`\a*`,
			pods+`\a|b`, pods+`\`+strings.Repeat("a", 300),
			pods+`\`+strings.Repeat("a", long), "C:/Windows", pods+"/../../../../Windows")
		if m.api.group == "filesystem" && m.operation != "IsSymlink" {
			bad(codes.InvalidArgument, strings.ReplaceAll(pods, `\`, "/")+"/x")
		}
	case partition:
		bad(codes.NotFound, uint32(3), uint32(129), uint32(math.MaxUint32))
		bad(codes.FailedPrecondition, uint32(1)) // reserved
	case size:
		bad(codes.InvalidArgument, int64(-1), int64(math.MinInt64))
		tooLarge := codes.OutOfRange
		if m.operation == "Expand" {
			tooLarge = codes.Unavailable // the disk may grow
		}
		bad(tooLarge, int64(math.MaxInt64), int64(1<<62))
	case remote:
		bad(codes.InvalidArgument, "", " ", `\\`, `\\server`, `\\server\`, `\\\share`, `C:\Windows`,
			`\\?\UNC\server\share`, `\\.\pipe\x`, `\\?\C:\Windows`,
			`\\server\share\..\other`, "\\\\server\\sha\x00re", `\\server\sh*re`, `\\server@SSL\share`,
			`\\server\pipe`, `\\server\IPC$`, `\\`+strings.Repeat("a", long)+`\share`, `\\server\share' OR '1'='1|`)
	case local:
		bad(codes.InvalidArgument, " ", "x", `C:\Windows`, `C:\var\lib\kubelet-evil\x`, pods+`\..\..\x`, `\\server\share`,
			pods+`\NUL`, pods+"\\a\x00b", pods+`\`+strings.Repeat("a", long))
	case user, password:
		bad(codes.Unauthenticated, "")
	case portal:
		bad(codes.InvalidArgument, address{"", 0}, address{"192.0.2.10", 65536}, address{"192.0.2.10", math.MaxUint32},
			address{"a b", 0}, address{"a\x00b", 0},
			address{`\\server`, 0}, address{"x' OR 1=1", 0}, address{"192.0.2.10:3260", 0},
			address{strings.Repeat("a", long), 0})
	case target:
		bad(codes.InvalidArgument, "", " ", "x", "iqn", "iqn.", "iqn.2026-13.emulated:open", openTarget+"\x00",
			openTarget+" ", "iqn.2026-01.emulated:*", "iqn.2026-01.emulated:"+strings.Repeat("a", long))
	case mutualSecret:
		bad(codes.InvalidArgument, "", "short", strings.Repeat("a", 17), strings.Repeat("a", long))
	case serviceName:
		bad(codes.InvalidArgument, "", "a/b", `..\Spooler`, "Spooler\x00", "a\nb", "\x1b[2J", "a\u0085b", "a\u2028b",
			strings.Repeat("a", 257), strings.Repeat("\U0001F4BE", 129), strings.Repeat("a", long))
		bad(codes.NotFound, "*", "Spooler ", "' OR 1=1", "nothing", "%s", "$(x)", strings.Repeat("a", 256),
			strings.Repeat("\U0001F4BE", 64))
	default: // both values of a flag are honest
	}
	return all
}

// checkBytes sends requests that generated code would not produce.
func (d *driver) checkBytes(m *method) {
	d.t.Helper()
	fields := m.request().ProtoReflect().Descriptor().Fields()
	empty := emptyRequest(m)
	for name, c := range map[string]struct {
		bytes []byte
		want  codes.Code
	}{
		"an empty request": {nil, empty},
		"unknown fields": {protowire.AppendString(
			protowire.AppendTag(nil, 99, protowire.BytesType), "unknown"), empty},
		"bytes that are no message":             {[]byte{0x0a, 0x05, 'x'}, codes.InvalidArgument},
		"a field number that there is not":      {[]byte{0x00, 0x00}, codes.InvalidArgument},
		"a request of more than four mebibytes": {d.oversized, codes.ResourceExhausted},
	} {
		_, err := m.invoke(d.t.Context(), m.request(), grpc.ForceCodec(verbatim{c.bytes}), grpc.MaxCallSendMsgSize(8<<20))
		wantCode(d.t, fmt.Sprintf("%v, %s", m, name), err, c.want)
	}
	for i := range fields.Len() {
		if fields.Get(i).Kind() != protoreflect.StringKind {
			continue
		}
		b := protowire.AppendString(protowire.AppendTag(nil, fields.Get(i).Number(), protowire.BytesType), "C:\\\xff\xfe")
		_, err := m.invoke(d.t.Context(), m.request(), grpc.ForceCodec(verbatim{b}))
		wantCode(d.t, fmt.Sprintf("%v, a %s that is no text", m, fields.Get(i).Name()), err, codes.InvalidArgument)
	}
}

// emptyRequest returns the code for a request without any field: text is missing, and a number is 0, the system disk's.
func emptyRequest(m *method) codes.Code {
	fields := m.request().ProtoReflect().Descriptor().Fields()
	for i := range fields.Len() {
		if kind := fields.Get(i).Kind(); kind == protoreflect.StringKind || kind == protoreflect.MessageKind {
			return codes.InvalidArgument
		}
	}
	if m.operation == "SetDiskState" || m.operation == "PartitionDisk" {
		return codes.FailedPrecondition // of the system disk, the first of them offline
	}
	return codes.OK
}

// verbatim sends the given bytes for any request, and ignores the response.
type verbatim struct{ bytes []byte }

func (v verbatim) Marshal(any) ([]byte, error) { return v.bytes, nil }
func (verbatim) Unmarshal([]byte, any) error   { return nil }
func (verbatim) Name() string                  { return "proto" }
