// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// message prints a message of the admin API like this program's own values: in camel case, with every field, and,
// unlike ProtoJSON, with numbers as numbers and values of enums as words.
type message struct{ proto.Message }

// messages prints messages so.
func messages[M proto.Message](list []M) []message {
	out := make([]message, len(list))
	for i, m := range list {
		out[i] = message{m}
	}
	return out
}

// MarshalJSON implements json.Marshaler.
func (m message) MarshalJSON() ([]byte, error) { return messageJSON(m.ProtoReflect()) }

func messageJSON(m protoreflect.Message) ([]byte, error) {
	if strings.HasPrefix(string(m.Descriptor().FullName()), "google.protobuf.") { // times have a form of their own
		return protojson.Marshal(m.Interface())
	}
	var members [][]byte
	for i := range m.Descriptor().Fields().Len() {
		field := m.Descriptor().Fields().Get(i)
		if field.ContainingOneof() != nil && !m.Has(field) {
			continue
		}
		text, err := fieldJSON(field, m)
		if err != nil {
			return nil, err
		}
		members = append(members, append([]byte(`"`+field.JSONName()+`":`), text...))
	}
	return fmt.Appendf(nil, "{%s}", bytes.Join(members, []byte(","))), nil
}

func fieldJSON(field protoreflect.FieldDescriptor, m protoreflect.Message) ([]byte, error) {
	switch value := m.Get(field); {
	case field.IsList():
		list := make([]json.RawMessage, value.List().Len())
		for i := range list {
			text, err := valueJSON(field, value.List().Get(i))
			if err != nil {
				return nil, err
			}
			list[i] = text
		}
		return json.Marshal(list)
	case field.Message() != nil && !m.Has(field):
		return []byte("null"), nil
	default:
		return valueJSON(field, value)
	}
}

func valueJSON(field protoreflect.FieldDescriptor, value protoreflect.Value) ([]byte, error) {
	switch v := value.Interface().(type) {
	case protoreflect.Message:
		return messageJSON(v)
	case protoreflect.EnumNumber:
		return json.Marshal(enumWord(field.Enum(), v))
	default:
		return json.Marshal(v)
	}
}

// enumWord returns a value of an enum as people write it: "start-pending" for SERVICE_STATE_START_PENDING of
// ServiceState.
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
