// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package page_test

import (
	"regexp"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	api "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
)

// The page takes the fields that its buttons set, of the methods that they call, and no others.
func TestFields(t *testing.T) {
	t.Parallel()
	s := open(t, false)
	_, html, _ := s.send("GET", "/", "", nil)
	set := map[string]bool{}
	for _, call := range regexp.MustCompile(`call\('(\w+)', \{([^}]*)\}`).FindAllStringSubmatch(html, -1) {
		set[call[1]] = true
		for _, field := range regexp.MustCompile(`(\w+):`).FindAllStringSubmatch(call[2], -1) {
			set[call[1]+"."+field[1]] = true
		}
	}
	before := s.state("0", 0)
	methods := api.File_emulated_v1alpha1_node_proto.Services().ByName("EmulatedNode").Methods()
	for i := range methods.Len() {
		method := string(methods.Get(i).Name())
		fields := methods.Get(i).Input().Fields()
		for j := range fields.Len() {
			request := dynamicpb.NewMessage(methods.Get(i).Input())
			request.Set(fields.Get(j), filled(request, fields.Get(j)))
			text, err := protojson.Marshal(request)
			if err != nil {
				t.Fatal(err)
			}
			name := fields.Get(j).JSONName()
			switch code, got, _ := s.send("POST", "/call/"+method, string(text), nil); {
			case set[method+"."+name]:
				if delete(set, method+"."+name); code == 403 {
					t.Errorf("%s %s: got %d %s", method, text, code, got)
				}
			case set[method] && !strings.Contains(got, "does not set "+name), !set[method] &&
				!strings.Contains(got, "does not call "+method), code != 403:
				t.Errorf("%s %s: got %d %s, want a refusal", method, text, code, got)
			}
		}
		delete(set, method)
	}
	if len(set) != 0 {
		t.Errorf("the page's buttons use %v, which no method has", set)
	}
	if after := s.state("0", 0); after.Version == before.Version {
		t.Errorf("no field that a button sets has changed anything: %+v", after)
	}
}

// filled returns a value of a field that is not empty.
func filled(of protoreflect.Message, field protoreflect.FieldDescriptor) protoreflect.Value {
	switch {
	case field.IsList():
		list := of.NewField(field)
		if field.Message() == nil {
			list.List().Append(protoreflect.ValueOfString("x"))
		} else {
			list.List().AppendMutable()
		}
		return list
	case field.Kind() == protoreflect.StringKind:
		return protoreflect.ValueOfString("/etc/x.disk")
	case field.Kind() == protoreflect.BoolKind:
		return protoreflect.ValueOfBool(true)
	case field.Kind() == protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(1 << 40)
	case field.Kind() == protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(1)
	case field.Kind() == protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(1)
	}
	return of.NewField(field)
}
