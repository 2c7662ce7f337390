// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
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
func (m message) MarshalJSON() ([]byte, error) {
	of := m.ProtoReflect()
	if strings.HasPrefix(string(of.Descriptor().FullName()), "google.protobuf.") { // times have a form of their own
		return protojson.Marshal(m.Message)
	}
	var members [][]byte
	for i := range of.Descriptor().Fields().Len() {
		field := of.Descriptor().Fields().Get(i)
		if field.ContainingOneof() != nil && !of.Has(field) {
			continue
		}
		text, err := json.Marshal(fieldValue(field, of))
		if err != nil {
			return nil, err
		}
		members = append(members, fmt.Appendf(nil, "%q:%s", field.JSONName(), text))
	}
	return fmt.Appendf(nil, "{%s}", bytes.Join(members, []byte(","))), nil
}

// fieldValue returns the value of a field for package json.
func fieldValue(field protoreflect.FieldDescriptor, m protoreflect.Message) any {
	if field.IsList() {
		list := make([]any, m.Get(field).List().Len())
		for i := range list {
			list[i] = plainValue(field, m.Get(field).List().Get(i))
		}
		return list
	}
	if field.Message() != nil && !m.Has(field) {
		return nil
	}
	return plainValue(field, m.Get(field))
}

func plainValue(field protoreflect.FieldDescriptor, value protoreflect.Value) any {
	switch v := value.Interface().(type) {
	case protoreflect.Message:
		return message{v.Interface()}
	case protoreflect.EnumNumber:
		return enumWord(field.Enum(), v)
	default:
		return v
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

// word returns a value of an enum as people write it.
func word(e protoreflect.Enum) string { return enumWord(e.Descriptor(), e.Number()) }

// words returns the words of an enum's values but the first, which means unspecified.
func words(enum protoreflect.EnumDescriptor) (list []string) {
	for i := 1; i < enum.Values().Len(); i++ {
		list = append(list, enumWord(enum, enum.Values().Get(i).Number()))
	}
	return list
}

// parseWord returns the value of an enum that a word names, and 0 for none.
func parseWord(text, what string, enum protoreflect.EnumDescriptor) (protoreflect.EnumNumber, error) {
	at := slices.Index(words(enum), strings.ToLower(text))
	if at < 0 && text != "" {
		return 0, fmt.Errorf("%q is not a %s of a service", text, what)
	}
	return enum.Values().Get(at + 1).Number(), nil
}
