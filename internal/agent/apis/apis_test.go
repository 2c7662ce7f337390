// SPDX-License-Identifier: Apache-2.0

package apis_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kubernetes-csi/csi-proxy/client/api"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/apis"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
)

// TestAPIsHaveTheirContractsMethods compares the tables with the protos: both must have the same methods.
func TestAPIsHaveTheirContractsMethods(t *testing.T) {
	files, err := api.Descriptors()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range apis.All(&node.Node{}) {
		for _, s := range e.Services {
			found, err := files.FindDescriptorByName(protoreflect.FullName(s.Name))
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

func TestV1OpensFirst(t *testing.T) {
	late := false
	for _, e := range apis.All(&node.Node{}) {
		if e.Version != "v1" {
			late = true
		} else if late {
			t.Errorf("%s comes after a version that is not v1", e.Name)
		}
	}
}
