// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// message prints a message of the admin API like this program's own values: camel case, every field there, and, unlike
// ProtoJSON, numbers as numbers and values of enums as words.
type message struct{ proto.Message }

// MarshalJSON implements json.Marshaler.
func (m message) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	err := appendMessage(&out, m.ProtoReflect())
	return out.Bytes(), err
}

func appendMessage(out *bytes.Buffer, m protoreflect.Message) error {
	if strings.HasPrefix(string(m.Descriptor().FullName()), "google.protobuf.") { // times have a form of their own
		text, err := protojson.Marshal(m.Interface())
		out.Write(text)
		return err
	}
	out.WriteByte('{')
	fields := m.Descriptor().Fields()
	first := true
	for i := range fields.Len() {
		field := fields.Get(i)
		if field.ContainingOneof() != nil && !m.Has(field) {
			continue
		}
		if !first {
			out.WriteByte(',')
		}
		first = false
		out.WriteString(`"` + field.JSONName() + `":`)
		if err := appendField(out, field, m); err != nil {
			return err
		}
	}
	out.WriteByte('}')
	return nil
}

func appendField(out *bytes.Buffer, field protoreflect.FieldDescriptor, m protoreflect.Message) error {
	value := m.Get(field)
	if !field.IsList() {
		if field.Message() != nil && !m.Has(field) {
			out.WriteString("null")
			return nil
		}
		return appendValue(out, field, value)
	}
	out.WriteByte('[')
	for i := range value.List().Len() {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := appendValue(out, field, value.List().Get(i)); err != nil {
			return err
		}
	}
	out.WriteByte(']')
	return nil
}

func appendValue(out *bytes.Buffer, field protoreflect.FieldDescriptor, value protoreflect.Value) error {
	plain := value.Interface()
	switch v := plain.(type) {
	case protoreflect.Message:
		return appendMessage(out, v)
	case protoreflect.EnumNumber:
		plain = enumWord(field.Enum(), v)
	}
	text, err := json.Marshal(plain)
	out.Write(text)
	return err
}

// enumWord is a value of an enum as people write it: of SERVICE_STATE_START_PENDING in ServiceState, "start-pending".
func enumWord(enum protoreflect.EnumDescriptor, number protoreflect.EnumNumber) string {
	value := enum.Values().ByNumber(number)
	if value == nil {
		return ""
	}
	var prefix strings.Builder
	for i, r := range string(enum.Name()) {
		if i > 0 && unicode.IsUpper(r) {
			prefix.WriteByte('_')
		}
		prefix.WriteRune(unicode.ToUpper(r))
	}
	name := strings.TrimPrefix(string(value.Name()), prefix.String()+"_")
	return strings.ToLower(strings.ReplaceAll(name, "_", "-"))
}
