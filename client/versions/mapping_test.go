// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/testing/protocmp"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	olddisk "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1beta2"
	oldfs "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1beta1"
	fsapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	oldvolume "github.com/kubernetes-csi/csi-proxy/client/api/volume/v1beta2"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
)

// decodeFrom decodes the bytes of a request, as a server does.
func decodeFrom(t *testing.T, request proto.Message) func(any) error {
	t.Helper()
	encoded, err := proto.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}
	return func(into any) error { return proto.Unmarshal(encoded, into.(proto.Message)) }
}

// A message that goes down to the old version and up again is unchanged: nothing is lost, nothing invented.
func TestMappingsKeepEverything(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, g := range Groups() {
		for _, r := range g.Routes {
			if r.Mapping == nil {
				continue
			}
			t.Run(g.Name+" "+r.In+" "+r.Method, func(t *testing.T) {
				for range 200 {
					checkRequest(t, random, r)
					checkResponse(t, random, r)
				}
			})
		}
	}
}

func checkRequest(t *testing.T, random *rand.Rand, r Route) {
	t.Helper()
	request := fill(random, r.Mapping.messages[2]().(proto.Message))
	old := r.Mapping.messages[0]()
	err := convert(r.Mapping.request, false, old, request)
	var unsupported *UnsupportedError
	if errors.As(err, &unsupported) {
		return
	}
	if err != nil {
		t.Fatalf("%v down: %v", request, err)
	}
	again := request.ProtoReflect().New().Interface()
	if err := r.Mapping.RequestUp(decodeFrom(t, old.(proto.Message)), again); err != nil {
		t.Fatalf("%v up: %v", old, err)
	}
	if diff := cmp.Diff(request, again, protocmp.Transform()); diff != "" {
		t.Fatalf("request (-before +after):\n%s", diff)
	}
}

func checkResponse(t *testing.T, random *rand.Rand, r Route) {
	t.Helper()
	response := fill(random, r.Mapping.messages[3]().(proto.Message))
	old := r.Mapping.ResponseDown(response)
	again := response.ProtoReflect().New().Interface()
	if err := convert(r.Mapping.response, true, old, again); err != nil {
		t.Fatalf("%v up: %v", old, err)
	}
	if diff := cmp.Diff(response, again, protocmp.Transform(), protocmp.IgnoreEmptyMessages()); diff != "" {
		t.Fatalf("response (-before +after):\n%s", diff)
	}
}

// fill makes a message of the same type with random content in every field.
func fill(random *rand.Rand, like proto.Message) proto.Message {
	m := like.ProtoReflect().New()
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		switch {
		case f.IsMap():
			content := m.NewField(f).Map()
			for range random.IntN(4) {
				content.Set(scalar(random, f.MapKey()).MapKey(), value(random, f.MapValue(), content.NewValue()))
			}
			m.Set(f, protoreflect.ValueOfMap(content))
		case f.IsList():
			content := m.NewField(f).List()
			for range random.IntN(4) {
				content.Append(scalar(random, f))
			}
			m.Set(f, protoreflect.ValueOfList(content))
		default:
			m.Set(f, scalar(random, f))
		}
	}
	return m.Interface()
}

func value(random *rand.Rand, f protoreflect.FieldDescriptor, empty protoreflect.Value) protoreflect.Value {
	if f.Kind() == protoreflect.MessageKind {
		return protoreflect.ValueOfMessage(fill(random, empty.Message().Interface()).ProtoReflect())
	}
	return scalar(random, f)
}

func scalar(random *rand.Rand, f protoreflect.FieldDescriptor) protoreflect.Value {
	switch f.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(fmt.Sprintf(`C:\π\%x`, random.Uint64()))
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(random.IntN(2) == 1)
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(random.Uint32())
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(random.Int64())
	default:
		panic("no random " + f.Kind().String())
	}
}

// The trap: drivers send the context POD in the field that has the number of the hub's force.
func TestOldRmdirContextIsNotForce(t *testing.T) {
	var rmdir Route
	for _, r := range filesystem().Of("v1beta1") {
		if r.Method == "Rmdir" {
			rmdir = r
		}
	}
	for _, force := range []bool{false, true} {
		hub := &fsapi.RmdirRequest{}
		old := &oldfs.RmdirRequest{Path: `C:\a`, Context: oldfs.PathContext_POD, Force: force}
		if err := rmdir.Mapping.RequestUp(decodeFrom(t, old), hub); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&fsapi.RmdirRequest{Path: `C:\a`, Force: force}, hub, protocmp.Transform()); diff != "" {
			t.Errorf("force=%t (-want +got):\n%s", force, diff)
		}
	}
}

func TestStringDiskIDs(t *testing.T) {
	for id, want := range map[string]uint32{"0": 0, "12": 12, "007": 7, "4294967295": 4294967295} {
		hub := &diskapi.PartitionDiskRequest{DiskNumber: 99}
		if err := partitionDisk().RequestUp(decodeFrom(t, &olddisk.PartitionDiskRequest{DiskID: id}), hub); err != nil ||
			hub.GetDiskNumber() != want {
			t.Errorf("%q: %d, %v, want %d", id, hub.GetDiskNumber(), err, want)
		}
	}
	for _, id := range []string{"", "4294967296", "-1", "+1", "1.0", "0x1", "1 ", "one", "18446744073709551617"} {
		hub := &volumeapi.ListVolumesOnDiskRequest{}
		err := listVolumesOnDisk().RequestUp(decodeFrom(t, &oldvolume.ListVolumesOnDiskRequest{DiskId: id}), hub)
		var argument *ArgumentError
		if !errors.As(err, &argument) {
			t.Errorf("%q: %v, want an ArgumentError", id, err)
		}
	}
}

func TestIdentifiersHaveTheirTwoKeys(t *testing.T) {
	got := diskIDs().ResponseDown(
		&diskapi.ListDiskIDsResponse{DiskIDs: map[uint32]*diskapi.DiskIDs{3: {}, 4: {Page83: "p", SerialNumber: "s"}}})
	want := &olddisk.ListDiskIDsResponse{DiskIDs: map[string]*olddisk.DiskIDs{
		"3": {Identifiers: map[string]string{"page83": "", "serialNumber": ""}},
		"4": {Identifiers: map[string]string{"page83": "p", "serialNumber": "s"}},
	}}
	if diff := cmp.Diff(want, got, protocmp.Transform()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Agents before v1.0 report failures in the response.
func TestInBandErrorsBecomeErrors(t *testing.T) {
	err := rmdir().Call(&fsapi.RmdirRequest{}, &fsapi.RmdirResponse{}, func(_, response any) error {
		response.(*oldfs.RmdirResponse).Error = "access is denied"
		return nil
	})
	if err == nil || err.Error() != "access is denied" {
		t.Errorf("got %v", err)
	}
}

func TestValuesThatOldVersionsLack(t *testing.T) {
	err := listVolumesOnDisk().Call(&volumeapi.ListVolumesOnDiskRequest{PartitionNumber: 2},
		&volumeapi.ListVolumesOnDiskResponse{}, func(_, _ any) error {
			t.Error("the call was made")
			return nil
		})
	var unsupported *UnsupportedError
	if !errors.As(err, &unsupported) || unsupported.Version != "v1beta3" {
		t.Errorf("got %v, want an UnsupportedError that names v1beta3", err)
	}
}
