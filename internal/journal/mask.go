// SPDX-License-Identifier: Apache-2.0

package journal

import (
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// maxRequest is how many bytes of one request are kept. Whole ones are a few paths, but a caller may send far more.
const maxRequest = 4096

// masked is what stands for a secret. It does not tell its length.
const masked = "[redacted]"

// mask copies a request without what nobody may read: fields named after a password or a secret, and fields that this
// version of the agent does not know, as they may be anything. A request that is too large is not kept: its size is
// returned instead.
func mask(request proto.Message) (kept proto.Message, tooLarge int) {
	if size := proto.Size(request); size > maxRequest {
		return nil, size
	}
	kept = proto.Clone(request)
	maskMessage(kept.ProtoReflect())
	return kept, 0
}

func maskMessage(m protoreflect.Message) {
	m.SetUnknown(nil)
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case secret(field):
			hide(m, field)
		case field.Message() == nil:
		case field.IsMap():
			if field.MapValue().Message() != nil {
				value.Map().Range(func(_ protoreflect.MapKey, v protoreflect.Value) bool { maskMessage(v.Message()); return true })
			}
		case field.IsList():
			for i := range value.List().Len() {
				maskMessage(value.List().Get(i).Message())
			}
		default:
			maskMessage(value.Message())
		}
		return true
	})
}

// secret tells whether a field holds a secret, by its name: "password", "chap_secret", "MutualChapSecret".
func secret(field protoreflect.FieldDescriptor) bool {
	name := strings.ToLower(string(field.Name()))
	return strings.Contains(name, "password") || strings.Contains(name, "secret")
}

// hide replaces a secret; one that is no single string is left out.
func hide(m protoreflect.Message, field protoreflect.FieldDescriptor) {
	switch {
	case field.Kind() == protoreflect.StringKind && !field.IsList():
		m.Set(field, protoreflect.ValueOfString(masked))
	default:
		m.Clear(field)
	}
}
