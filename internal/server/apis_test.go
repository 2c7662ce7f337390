// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/kubernetes-csi/csi-proxy/internal/server"
	"github.com/kubernetes-csi/csi-proxy/node"
)

// TestAPIsHaveTheirContractsMethods compares the tables with the protos: neither may have a method that the other
// lacks.
func TestAPIsHaveTheirContractsMethods(t *testing.T) {
	for _, e := range server.APIs(&node.Node{}) {
		for _, s := range e.Services {
			found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(s.Name))
			if err != nil {
				t.Fatalf("%s: %v", s.Name, err)
			}
			var got, want []string
			for _, m := range s.Methods {
				got = append(got, m.Name)
			}
			methods := found.(protoreflect.ServiceDescriptor).Methods()
			for i := range methods.Len() {
				want = append(want, string(methods.Get(i).Name()))
			}
			slices.Sort(got)
			slices.Sort(want)
			if diff := cmp.Diff(got, want); diff != "" {
				t.Errorf("%s: methods differ (-got +want):\n%s", e.Name, diff)
			}
		}
	}
}

// TestOlderVersionsHaveTheHubsBytes: a v1 method is handled with the messages of the group's hub, so both must have the
// same fields.
func TestOlderVersionsHaveTheHubsBytes(t *testing.T) {
	compared := 0
	for _, e := range server.APIs(&node.Node{}) {
		hub := map[string]string{"filesystem": "v2alpha1.Filesystem", "volume": "v2alpha1.Volume"}[e.Group]
		if hub == "" || e.Services[0].Name == hub {
			continue
		}
		for _, m := range e.Services[0].Methods {
			old, newer := method(t, e.Services[0].Name, m.Name), method(t, hub, m.Name)
			for _, pair := range [][2]protoreflect.MessageDescriptor{{old.Input(), newer.Input()}, {old.Output(), newer.Output()}} {
				compared++
				if diff := cmp.Diff(fields(t, pair[0]), fields(t, pair[1])); diff != "" {
					t.Errorf("%s and %s differ (-old +hub):\n%s", pair[0].FullName(), pair[1].FullName(), diff)
				}
			}
		}
	}
	if compared == 0 {
		t.Error("nothing was compared")
	}
}

func method(t *testing.T, service, name string) protoreflect.MethodDescriptor {
	t.Helper()
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(protoreflect.FullName(service + "." + name))
	if err != nil {
		t.Fatal(err)
	}
	return found.(protoreflect.MethodDescriptor)
}

// fields is what decides about a flat message's bytes, and the names that give them a meaning.
func fields(t *testing.T, m protoreflect.MessageDescriptor) map[protoreflect.FieldNumber]string {
	t.Helper()
	list := map[protoreflect.FieldNumber]string{}
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		if f.Message() != nil {
			t.Fatalf("%s has a message in it, which this test does not compare", m.FullName())
		}
		list[f.Number()] = string(f.Name()) + " " + f.Cardinality().String() + " " + f.Kind().String()
	}
	return list
}

func TestV1OpensFirst(t *testing.T) {
	late := false
	for _, e := range server.APIs(&node.Node{}) {
		if e.Version != "v1" {
			late = true
		} else if late {
			t.Errorf("%s comes after a version that is not v1", e.Name)
		}
	}
}
