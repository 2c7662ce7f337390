// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	stdcontext "context"
	"fmt"
	"reflect"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A method is one method of one version, called through that version's client.
type method struct {
	api       *api
	name      string
	operation string
	// of the client: func(context, *Request, ...grpc.CallOption) (*Response, error)
	function reflect.Value

	succeeded, failed int // calls, failed ones of one part
}

func (m *method) String() string { return fmt.Sprintf("%s %s %s", m.api.group, m.api.version, m.name) }

// newMethod finds a released method in the client.
func newMethod(t testing.TB, a *api, d protoreflect.MethodDescriptor) *method {
	t.Helper()
	m := &method{api: a, name: string(d.Name()), operation: operation(a.group, string(d.Name()))}
	m.function = reflect.ValueOf(a.client).MethodByName(m.name)
	if !m.function.IsValid() {
		t.Fatalf("the client of %s %s has no method %s", a.group, a.version, m.name)
	}
	in, out := m.request().ProtoReflect().Descriptor(),
		reflect.New(m.function.Type().Out(0).Elem()).Interface().(proto.Message).ProtoReflect().Descriptor()
	if in.FullName() != d.Input().FullName() || out.FullName() != d.Output().FullName() {
		t.Fatalf("the client's %v takes a %s and answers a %s, not %s and %s", m, in.FullName(), out.FullName(),
			d.Input().FullName(), d.Output().FullName())
	}
	if _, ok := failures()[m.operation]; !ok { // TestConformance reports it
		return m
	}
	for _, message := range []protoreflect.MessageDescriptor{in, out} {
		for i := range message.Fields().Len() {
			if f := message.Fields().Get(i); meaningOf(string(f.Name())) == "" {
				t.Fatalf("%v has the field %s, whose meaning these tests do not know", m, f.Name())
			}
		}
	}
	return m
}

// request returns an empty request of the version's own type.
func (m *method) request() proto.Message {
	return reflect.New(m.function.Type().In(1).Elem()).Interface().(proto.Message)
}

// field finds a field of the request by its meaning.
func (m *method) field(what meaning) protoreflect.FieldDescriptor {
	return fieldOf(m.request().ProtoReflect().Descriptor(), what)
}

func fieldOf(d protoreflect.MessageDescriptor, what meaning) protoreflect.FieldDescriptor {
	for i := range d.Fields().Len() {
		if f := d.Fields().Get(i); meaningOf(string(f.Name())) == what {
			return f
		}
	}
	return nil
}

// invoke calls the client's method.
func (m *method) invoke(ctx stdcontext.Context, request proto.Message,
	options ...grpc.CallOption) (proto.Message, error) {
	in := []reflect.Value{reflect.ValueOf(ctx), reflect.ValueOf(request)}
	for _, o := range options {
		in = append(in, reflect.ValueOf(o))
	}
	out := m.function.Call(in)
	if err, failed := out[1].Interface().(error); failed {
		m.failed++
		return nil, err
	}
	m.succeeded++
	return out[0].Interface().(proto.Message), nil
}

// values are the fields of a request by their meaning: a disk number is a uint32, or a string where it is meant to be
// hostile, a size an int64, a portal an address, the rest string or bool.
type values map[meaning]any

// fill makes a request from values. A context is left out where a version has none; every other value needs a field.
func (m *method) fill(t testing.TB, v values) proto.Message {
	t.Helper()
	request := m.request()
	for what, value := range v {
		f := m.field(what)
		if f == nil && what == context {
			continue
		}
		if f == nil {
			t.Fatalf("%v has no %s", m, what)
		}
		if at, ok := value.(address); ok {
			m := request.ProtoReflect().Mutable(f).Message()
			m.Set(m.Descriptor().Fields().ByName("target_address"), protoreflect.ValueOfString(at.Name))
			m.Set(m.Descriptor().Fields().ByName("target_port"), protoreflect.ValueOfUint32(at.Port))
			continue
		}
		request.ProtoReflect().Set(f, valueFor(t, f, value))
	}
	return request
}

func valueFor(t testing.TB, f protoreflect.FieldDescriptor, value any) protoreflect.Value {
	t.Helper()
	switch number, isNumber := value.(uint32); {
	case isNumber && f.Kind() == protoreflect.StringKind:
		return protoreflect.ValueOfString(fmt.Sprint(number))
	case isNumber && f.Kind() == protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(number))
	}
	v := protoreflect.ValueOf(value)
	kinds := map[protoreflect.Kind]any{
		protoreflect.StringKind: "", protoreflect.BoolKind: false, protoreflect.Uint32Kind: uint32(0),
		protoreflect.Int64Kind: int64(0), protoreflect.Uint64Kind: uint64(0),
	}
	if reflect.TypeOf(value) != reflect.TypeOf(kinds[f.Kind()]) {
		t.Fatalf("the field %s does not take a %T", f.FullName(), value)
	}
	return v
}
