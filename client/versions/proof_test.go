// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/kubernetes-csi/csi-proxy/client/api"
	_ "github.com/kubernetes-csi/csi-proxy/client/internal/everyversion"
)

// released returns every service of the wire contract, by group and version, from the compiled descriptors.
func released(t *testing.T) map[string]map[string]protoreflect.ServiceDescriptor {
	t.Helper()
	services := map[string]map[string]protoreflect.ServiceDescriptor{}
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		path := strings.Split(file.Path(), "/")
		if len(path) == 5 && path[0] == "client" && path[1] == "api" {
			if services[path[2]] == nil {
				services[path[2]] = map[string]protoreflect.ServiceDescriptor{}
			}
			services[path[2]][path[3]] = file.Services().Get(0)
		}
		return true
	})
	return services
}

func TestEveryMethodHasOnePlace(t *testing.T) {
	all := newMethodCounts()
	services := released(t)
	for _, g := range Groups() {
		counted, problems := prove(g, services[g.Name])
		logRelations(t, g, services[g.Name][g.Hub].Methods())
		delete(services, g.Name)
		all.add(counted)
		for _, problem := range problems {
			t.Error(problem)
		}
	}
	if len(services) > 0 {
		t.Errorf("groups without a table: %v", services)
	}
	t.Log(all)
}

// logRelations logs how each method relates to the hub's, which are counted.
func logRelations(t *testing.T, g Group, hub protoreflect.MethodDescriptors) {
	t.Helper()
	for i := range hub.Len() {
		t.Logf("relates: %s %s %s: hub", g.Name, g.Hub, hub.Get(i).Name())
	}
	for _, version := range g.Versions() {
		for _, route := range g.Of(version) {
			t.Logf("relates: %s %s %s: %s", g.Name, version, route.Method, route.Kind)
		}
	}
}

// TestEveryReleasedVersionIsProved compares the versions linked into this test with the image of all released versions.
func TestEveryReleasedVersionIsProved(t *testing.T) {
	files, err := api.Descriptors()
	if err != nil {
		t.Fatal(err)
	}
	linked := released(t)
	files.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		path := strings.Split(file.Path(), "/")
		if file.Services().Len() > 0 && linked[path[2]][path[3]] == nil {
			t.Errorf("%s %s is released and not proved here: run make generate", path[2], path[3])
		}
		return true
	})
}
