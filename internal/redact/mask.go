// SPDX-License-Identifier: Apache-2.0

package redact

import (
	"strings"
	"sync"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// MaxSize is how many bytes of one request are kept. Whole ones are a few paths, but a caller may send far more.
const MaxSize = 4096

// masked is what stands for a secret. It does not tell its length.
const masked = "[redacted]"

// Masks masks messages, and remembers of which types there is nothing to mask.
type Masks struct {
	plain sync.Map // bool by protoreflect.MessageDescriptor
}

// Mask returns a message without what nobody may read: fields named after a password or a secret, and fields that this
// version of the agent does not know, as they may be anything. The request itself is not changed: it is copied, unless
// it has none of these. One that is too large is not kept: its size is returned instead.
func (m *Masks) Mask(request proto.Message) (kept proto.Message, tooLarge int) {
	if size := proto.Size(request); size > MaxSize {
		return nil, size
	}
	message := request.ProtoReflect()
	if len(message.GetUnknown()) == 0 && m.isPlain(message.Descriptor()) {
		return request, 0
	}
	kept = proto.Clone(request)
	maskMessage(kept.ProtoReflect())
	return kept, 0
}

// isPlain tells whether messages of a type have neither secrets nor messages within, which may have some.
func (m *Masks) isPlain(d protoreflect.MessageDescriptor) bool {
	if plain, ok := m.plain.Load(d); ok {
		return plain.(bool) //nolint:forcetypeassert // nothing else is stored
	}
	plain := true
	for i := range d.Fields().Len() {
		f := d.Fields().Get(i)
		plain = plain && !secret(f) && f.Message() == nil
	}
	m.plain.Store(d, plain)
	return plain
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
