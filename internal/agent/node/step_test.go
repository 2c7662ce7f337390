// SPDX-License-Identifier: Apache-2.0

package node

import (
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	api "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// Steps that differ in any field join no other, be the field new; the target's spelling makes no difference.
func TestStepsJoinWhenAllFieldsAreEqual(t *testing.T) {
	target, err := winpath.Parse(KubeletDir, winpath.Options{})
	must(t, err)
	for _, plain := range []proto.Message{&api.StageDiskRequest{}, &api.StageShareRequest{}, &api.UnstageRequest{},
		&api.PublishRequest{}, &api.ExpandRequest{}} {
		fields := plain.ProtoReflect().Descriptor().Fields()
		for i := range fields.Len() {
			field := fields.Get(i)
			other := proto.Clone(plain)
			other.ProtoReflect().Set(field, anyValue(other.ProtoReflect(), field))
			same := stepAt("test", target, plain).Details == stepAt("test", target, other).Details
			elsewhere := field.Name() == "target_path" || field.Name() == "password" // in the objects and the credentials
			if same != elsewhere {
				t.Errorf("%s: calls that differ in it join: %t", field.FullName(), same)
			}
		}
	}
}

// anyValue returns a value of a field that is not its default.
func anyValue(m protoreflect.Message, field protoreflect.FieldDescriptor) protoreflect.Value {
	switch {
	case field.IsList():
		list := m.NewField(field).List()
		list.AppendMutable()
		return protoreflect.ValueOfList(list)
	case field.Message() != nil:
		return m.NewField(field)
	}
	switch field.Kind() {
	case protoreflect.StringKind:
		return protoreflect.ValueOfString("a")
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(1)
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(1)
	default:
		return protoreflect.ValueOfUint32(1)
	}
}
