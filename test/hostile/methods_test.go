// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"context"
	"fmt"
	"net"
	"slices"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	fsv1 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	fsv2 "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	volumev1 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1"
	volumev2 "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// kind is the meaning of a request's field, which decides what is hostile in it.
type kind int

const (
	kindPath      kind = iota // a Windows path; / is refused
	kindSlashPath             // a Windows path; / is taken for \
	kindVolumeID
	kindResizeID // a volume id, or the number of a disk
	kindDisk
	kindPartition
	kindSize
	kindFlag
)

type field struct {
	name   string
	number protowire.Number
	kind   kind
}

// method is one method of one version of one group.
type method struct {
	group, version, name string
	path                 string // on the wire
	fields               []field
}

func (m method) String() string { return m.group + " " + m.version + " " + m.name }

// apis returns the groups and versions that are attacked.
func apis() []struct {
	group, version string
	file           protoreflect.FileDescriptor
} {
	return []struct {
		group, version string
		file           protoreflect.FileDescriptor
	}{
		{"disk", "v1", diskv1.File_client_api_disk_v1_api_proto},
		{"filesystem", "v1", fsv1.File_client_api_filesystem_v1_api_proto},
		{"filesystem", "v2alpha1", fsv2.File_client_api_filesystem_v2alpha1_api_proto},
		{"volume", "v1", volumev1.File_client_api_volume_v1_api_proto},
		{"volume", "v2alpha1", volumev2.File_client_api_volume_v2alpha1_api_proto},
	}
}

// methods returns all methods of those, from their descriptors, so that none is forgotten.
func methods(t *testing.T) []method {
	t.Helper()
	var all []method
	for _, api := range apis() {
		services := api.file.Services()
		for i := range services.Len() {
			for j := range services.Get(i).Methods().Len() {
				d := services.Get(i).Methods().Get(j)
				m := method{
					group: api.group, version: api.version, name: string(d.Name()),
					path: fmt.Sprintf("/%s/%s", services.Get(i).FullName(), d.Name()),
				}
				for k := range d.Input().Fields().Len() {
					f := d.Input().Fields().Get(k)
					m.fields = append(m.fields, field{string(f.Name()), f.Number(), kindOf(t, m, string(f.Name()))})
				}
				all = append(all, m)
			}
		}
	}
	return all
}

// methodsNamed picks methods by name, in all versions.
func methodsNamed(t *testing.T, names ...string) []method {
	t.Helper()
	var picked []method
	for _, m := range methods(t) {
		if slices.Contains(names, m.name) {
			picked = append(picked, m)
		}
	}
	return picked
}

func kindOf(t *testing.T, m method, name string) kind {
	t.Helper()
	switch {
	case m.group == "filesystem" && m.name == "IsSymlink" && name == "path":
		return kindSlashPath
	case m.group == "filesystem" && (name == "path" || name == "source_path" || name == "target_path"):
		return kindPath
	case m.group == "volume" && name == "target_path":
		return kindSlashPath
	case m.name == "ResizeVolume" && name == "volume_id":
		return kindResizeID
	}
	kinds := map[string]kind{
		"volume_id": kindVolumeID, "disk_number": kindDisk, "partition_number": kindPartition, "size_bytes": kindSize,
		"force": kindFlag, "is_online": kindFlag,
	}
	k, ok := kinds[name]
	if !ok {
		t.Fatalf("%v has the field %s, for which these tests know no hostile value", m, name)
	}
	return k
}

func (k kind) isPath() bool { return k == kindPath || k == kindSlashPath }

func (k kind) isVolume() bool { return k == kindVolumeID || k == kindResizeID }

// values are the contents of a request's fields: string, uint64 or, for a field of any type, protobuf's own bytes.
type values map[string]any

// encode returns the request's bytes. Nothing is checked: what generated code would refuse to send is sent.
func (m method) encode(t *testing.T, v values) []byte {
	t.Helper()
	var b []byte
	for _, f := range m.fields {
		switch value := v[f.name].(type) {
		case nil:
		case string:
			b = protowire.AppendString(protowire.AppendTag(b, f.number, protowire.BytesType), value)
		case uint64:
			b = protowire.AppendVarint(protowire.AppendTag(b, f.number, protowire.VarintType), value)
		default:
			t.Fatalf("%v: field %s: a value of type %T", m, f.name, value)
		}
	}
	return b
}

// rawCodec passes bytes through.
type rawCodec struct{}

func (rawCodec) Marshal(v any) ([]byte, error)   { return *v.(*[]byte), nil }
func (rawCodec) Unmarshal(b []byte, v any) error { *v.(*[]byte) = slices.Clone(b); return nil }
func (rawCodec) Name() string                    { return "proto" }

// wire calls methods with bytes on the agent's sockets.
type wire struct {
	conns map[string]*grpc.ClientConn
}

func dialAll(t *testing.T, n *testnode.Node) *wire {
	t.Helper()
	w := &wire{conns: map[string]*grpc.ClientConn{}}
	for _, api := range apis() {
		socket := n.Socket(api.group, api.version)
		conn, err := grpc.NewClient("passthrough:///"+api.group, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				return testnode.DialRaw(ctx, socket)
			}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		w.conns[api.group+" "+api.version] = conn
	}
	return w
}

// call sends a request and returns the response's bytes.
func (w *wire) call(ctx context.Context, m method, request []byte) ([]byte, error) {
	var response []byte
	err := w.conns[m.group+" "+m.version].Invoke(ctx, m.path, &request, &response, grpc.ForceCodec(rawCodec{}))
	return response, err
}

func wantCode(t *testing.T, what any, err error, want codes.Code) {
	t.Helper()
	if got := status.Code(err); got != want {
		t.Errorf("%v: code %v, want %v (%s)", what, got, want, clip(fmt.Sprint(err)))
	}
}

func clip(text string) string { return text[:min(len(text), 300)] }

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
