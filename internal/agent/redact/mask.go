// SPDX-License-Identifier: Apache-2.0

// Package redact takes the secrets out of API messages before they are kept or shown.
package redact

import (
	"bytes"
	"encoding/json"
	"strings"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/structpb"
)

// MaxSize is how many bytes a request may have to be kept. A request is a few paths, but a caller may send far more.
const MaxSize = 4096

// placeholder stands for a secret, without its length.
const placeholder = "[redacted]"

// Mask returns a copy of a message without secrets: it masks fields named after a password or a secret and drops
// unknown ones. A message that is too large is not copied: its size is returned instead.
func Mask(message proto.Message) (masked proto.Message, tooLarge int) {
	if size := proto.Size(message); size > MaxSize {
		return nil, size
	}
	masked = proto.Clone(message)
	maskMessage(masked.ProtoReflect())
	return masked, 0
}

func maskMessage(m protoreflect.Message) {
	m.SetUnknown(nil)
	m.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case secret(field):
			maskField(m, field)
		case field.Message() == nil:
		case field.IsMap():
			if field.MapValue().Message() != nil {
				value.Map().Range(func(key protoreflect.MapKey, v protoreflect.Value) bool {
					if secretName(key.String()) { // of a google.protobuf.Struct
						value.Map().Set(key, protoreflect.ValueOfMessage(structpb.NewStringValue(placeholder).ProtoReflect()))
					} else {
						maskMessage(v.Message())
					}
					return true
				})
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

// secret reports whether a field holds a secret, by its name: "password", "chap_secret", "MutualChapSecret".
func secret(field protoreflect.FieldDescriptor) bool { return secretName(string(field.Name())) }

func secretName(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "password") || strings.Contains(name, "secret")
}

// maskField replaces a secret that is a single string, and clears any other.
func maskField(m protoreflect.Message, field protoreflect.FieldDescriptor) {
	if field.Kind() == protoreflect.StringKind && !field.IsList() {
		m.Set(field, protoreflect.ValueOfString(placeholder))
	} else {
		m.Clear(field)
	}
}

// JSON returns a masked message, in UTF-8, as JSON on one line, always the same, with the .proto file's names.
func JSON(message proto.Message) ([]byte, error) {
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(message)
	if err != nil {
		return nil, err
	}
	var line bytes.Buffer // protojson varies its spaces at random
	err = json.Compact(&line, text)
	return line.Bytes(), err
}
