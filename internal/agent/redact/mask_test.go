// SPDX-License-Identifier: Apache-2.0

package redact_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/redact"
)

// request returns the type of a request such as a future version may have: with messages in it, in lists and in maps.
func request(t *testing.T) protoreflect.MessageDescriptor {
	t.Helper()
	field := func(number int32, name string, kind descriptorpb.FieldDescriptorProto_Type, of string,
		many bool) *descriptorpb.FieldDescriptorProto {
		f := &descriptorpb.FieldDescriptorProto{Name: &name, Number: &number, Type: &kind,
			Label: descriptorpb.FieldDescriptorProto_LABEL_OPTIONAL.Enum()}
		if of != "" {
			f.TypeName = &of
		}
		if many {
			f.Label = descriptorpb.FieldDescriptorProto_LABEL_REPEATED.Enum()
		}
		return f
	}
	const text, raw, message = descriptorpb.FieldDescriptorProto_TYPE_STRING, descriptorpb.FieldDescriptorProto_TYPE_BYTES,
		descriptorpb.FieldDescriptorProto_TYPE_MESSAGE
	file, err := protodesc.NewFile(&descriptorpb.FileDescriptorProto{
		Name: proto.String("request.proto"), Package: proto.String("test"), Syntax: proto.String("proto3"),
		MessageType: []*descriptorpb.DescriptorProto{
			{Name: proto.String("Login"), Field: []*descriptorpb.FieldDescriptorProto{field(1, "user", text, "", false),
				field(2, "UserPassword", text, "", false)}},
			{
				Name: proto.String("Request"),
				Field: []*descriptorpb.FieldDescriptorProto{
					field(1, "path", text, "", false), field(2, "one", message, ".test.Login", false),
					field(3, "list", message, ".test.Login", true),
					field(4, "map", message, ".test.Request.MapEntry", true), field(5, "chap_secret", raw, "", false),
					field(6, "old_passwords", text, "", true),
				},
				NestedType: []*descriptorpb.DescriptorProto{{
					Name: proto.String("MapEntry"), Options: &descriptorpb.MessageOptions{MapEntry: proto.Bool(true)},
					Field: []*descriptorpb.FieldDescriptorProto{field(1, "key", text, "", false),
						field(2, "value", message, ".test.Login", false)},
				}},
			},
		},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return file.Messages().ByName("Request")
}

// Wherever a secret is in a message, it is not in what is kept; the message itself is not changed.
func TestMask(t *testing.T) {
	const hush, unknown = "hunter2", "\x92\x03\x07hunter2"
	typ := request(t)
	login := typ.Fields().ByName("one").Message()
	newLogin := func() protoreflect.Message {
		m := dynamicpb.NewMessage(login)
		m.Set(login.Fields().ByName("user"), protoreflect.ValueOfString("u"))
		m.Set(login.Fields().ByName("UserPassword"), protoreflect.ValueOfString(hush))
		m.SetUnknown([]byte(unknown))
		return m
	}
	m := dynamicpb.NewMessage(typ)
	m.SetUnknown([]byte(unknown))
	fields := typ.Fields()
	m.Set(fields.ByName("path"), protoreflect.ValueOfString("p"))
	m.Set(fields.ByName("one"), protoreflect.ValueOfMessage(newLogin()))
	m.Mutable(fields.ByName("list")).List().Append(protoreflect.ValueOfMessage(newLogin()))
	m.Mutable(fields.ByName("map")).Map().Set(protoreflect.ValueOfString("k").MapKey(),
		protoreflect.ValueOfMessage(newLogin()))
	m.Set(fields.ByName("chap_secret"), protoreflect.ValueOfBytes([]byte(hush)))
	m.Mutable(fields.ByName("old_passwords")).List().Append(protoreflect.ValueOfString(hush))
	before, err := proto.MarshalOptions{Deterministic: true}.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}

	masked, tooLarge := redact.Mask(m)
	if tooLarge != 0 {
		t.Fatalf("it is too large: %d bytes", tooLarge)
	}
	text, err := redact.JSON(masked)
	if err != nil {
		t.Fatal(err)
	}
	const hidden = `{"user":"u","UserPassword":"[redacted]"}`
	if got, want := string(text), `{"path":"p","one":`+hidden+`,"list":[`+hidden+`],"map":{"k":`+hidden+`}}`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if wire, err := proto.Marshal(masked); err != nil || strings.Contains(string(wire), hush) {
		t.Errorf("%q is kept, %v", wire, err)
	}
	if after, err := (proto.MarshalOptions{Deterministic: true}).Marshal(m); err != nil ||
		string(after) != string(before) {
		t.Errorf("the message was changed: %q, %v", after, err)
	}

	m.Set(fields.ByName("path"), protoreflect.ValueOfString(strings.Repeat("p", redact.MaxSize)))
	if masked, tooLarge := redact.Mask(m); masked != nil || tooLarge != proto.Size(m) {
		t.Errorf("a large message: %v, %d bytes, want its size alone", masked, tooLarge)
	}
}
