// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"encoding/json"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// A record lists API versions, as JSON has them: testdata/contract.json all that the original's agents and drivers have
// shipped with, testdata/own.json ours.
type record struct {
	Counts struct {
		GroupVersions int `json:"group_versions"`
		Methods       int
	}
	GroupVersions []map[string]any `json:"group_versions"`
}

// TestDescriptorsMatchTheContract compares each version in the tree with its
// entry, in full and in order, so that neither can have what the other lacks.
func TestDescriptorsMatchTheContract(t *testing.T) {
	missing, in := map[any]map[string]any{}, map[any]string{}
	wantVersions, wantMethods := 0, 0
	for _, name := range []string{"contract.json", "own.json"} {
		encoded, err := os.ReadFile("testdata/" + name)
		if err != nil {
			t.Fatal(err)
		}
		var r record
		if err := json.Unmarshal(encoded, &r); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, entry := range r.GroupVersions {
			// The path at which the file was once compiled is never sent, and three files have a different root from the
			// rest.
			delete(entry, "descriptor_file")
			missing[entry["endpoint"]], in[entry["endpoint"]] = entry, name
		}
		wantVersions, wantMethods = wantVersions+r.Counts.GroupVersions, wantMethods+r.Counts.Methods
	}
	versions, methods := 0, 0
	for _, name := range protoFiles(t) {
		file := registered(t, name)
		if file.Services().Len() == 0 {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if got := file.Services().Len(); got != 1 {
				t.Fatalf("%d services, want 1", got)
			}
			got := describe(file)
			endpoint, group := got["endpoint"], got["group"].(string)
			entry, ok := missing[endpoint]
			if !ok {
				t.Fatalf("the contract has no version with the endpoint %s: %s", endpoint, change(group))
			}
			delete(missing, endpoint)
			versions, methods = versions+1, methods+file.Services().Get(0).Methods().Len()
			if diff := cmp.Diff(got, entry); diff != "" {
				t.Errorf("%s and its record in testdata/%s differ; %s (-got +want):\n%s", name, in[endpoint], change(group), diff)
			}
		})
	}
	for endpoint := range missing {
		t.Errorf("no .proto has the endpoint %s of testdata/%s", endpoint, in[endpoint])
	}
	if versions != wantVersions || methods != wantMethods {
		t.Errorf("compared %d versions with %d methods; the counts of the records say %d and %d", versions, methods,
			wantVersions, wantMethods)
	}
}

// change says how to record a change of a group's protos that is meant.
func change(group string) string {
	if strings.HasPrefix(group, "node") {
		return "if it is meant, and the version is not released: run make generate image, and bring " +
			"client/api/testdata/own.json up to date"
	}
	return "a released version never changes; a new one gets an entry in client/api/testdata/contract.json, and make image"
}

// describe returns a descriptor in the terms of the contract.
func describe(file protoreflect.FileDescriptor) map[string]any {
	service := file.Services().Get(0)
	groupDir, version := path.Split(path.Dir(file.Path()))
	group := path.Base(groupDir)
	return map[string]any{
		"group":         group,
		"version":       version,
		"endpoint":      "csi-proxy-" + group + "-" + version,
		"syntax":        file.Syntax().String(),
		"proto_package": string(file.Package()),
		"service":       string(service.FullName()),
		"methods": each(service.Methods(), func(m protoreflect.MethodDescriptor) map[string]any {
			return map[string]any{
				"full_path": "/" + string(service.FullName()) + "/" + string(m.Name()),
				"request":   string(m.Input().FullName()),
				"response":  string(m.Output().FullName()),
				"streaming": m.IsStreamingClient() || m.IsStreamingServer(),
			}
		}),
		"messages": each(file.Messages(), func(m protoreflect.MessageDescriptor) map[string]any {
			return map[string]any{"full_name": string(m.FullName()), "fields": each(m.Fields(), describeField)}
		}),
		"enums": each(file.Enums(), func(e protoreflect.EnumDescriptor) map[string]any {
			return map[string]any{"full_name": string(e.FullName()),
				"values": each(e.Values(), func(v protoreflect.EnumValueDescriptor) map[string]any {
					return map[string]any{"number": float64(v.Number())}
				})}
		}),
	}
}

// each describes the descriptors of a list, each with its name.
func each[D protoreflect.Descriptor](list interface {
	Len() int
	Get(i int) D
}, describe func(D) map[string]any) []any {
	all := []any{}
	for i := range list.Len() {
		described := describe(list.Get(i))
		described["name"] = string(list.Get(i).Name())
		all = append(all, described)
	}
	return all
}

func describeField(f protoreflect.FieldDescriptor) map[string]any {
	described := map[string]any{"number": float64(f.Number()), "type": typeOf(f), "label": "singular"}
	switch {
	case f.IsMap():
		described["type"], described["label"] = "map", "map"
		described["map_key"], described["map_value"] = typeOf(f.MapKey()), typeOf(f.MapValue())
	case f.IsList():
		described["label"] = "repeated"
	case f.HasOptionalKeyword():
		described["label"] = "optional"
	case f.ContainingOneof() != nil:
		described["label"] = "oneof " + string(f.ContainingOneof().Name())
	}
	return described
}

// typeOf returns the type's name of a field, or of one of its elements.
func typeOf(f protoreflect.FieldDescriptor) string {
	switch f.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		return f.Kind().String() + " " + string(f.Message().FullName())
	case protoreflect.EnumKind:
		return f.Kind().String() + " " + string(f.Enum().FullName())
	}
	return f.Kind().String()
}
