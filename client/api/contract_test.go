// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// The contract lists every API version that the original's agents and drivers have shipped
// with; own.json lists ours. These types are their JSON form; a key that they lack is an error.
type (
	contract struct {
		Counts struct {
			GroupVersions int `json:"group_versions"`
			Methods       int `json:"methods"`
		} `json:"counts"`
		GroupVersions []groupVersion `json:"group_versions"`
	}
	groupVersion struct {
		Group    string `json:"group"`
		Version  string `json:"version"`
		Endpoint string `json:"endpoint"`
		// The path at which the file was once compiled. It is not compared: it is never
		// sent, and three files have a different root from the rest.
		DescriptorFile string    `json:"descriptor_file"`
		Syntax         string    `json:"syntax"`
		ProtoPackage   string    `json:"proto_package"`
		Service        string    `json:"service"`
		Methods        []method  `json:"methods"`
		Messages       []message `json:"messages"`
		Enums          []enum    `json:"enums"`
	}
	method struct {
		Name      string `json:"name"`
		FullPath  string `json:"full_path"`
		Request   string `json:"request"`
		Response  string `json:"response"`
		Streaming bool   `json:"streaming"`
	}
	message struct {
		Name     string  `json:"name"`
		FullName string  `json:"full_name"`
		Fields   []field `json:"fields"`
	}
	field struct {
		Name     string `json:"name"`
		Number   int    `json:"number"`
		Type     string `json:"type"`
		Label    string `json:"label"`
		MapKey   string `json:"map_key"`
		MapValue string `json:"map_value"`
	}
	enum struct {
		Name     string      `json:"name"`
		FullName string      `json:"full_name"`
		Values   []enumValue `json:"values"`
	}
	enumValue struct {
		Name   string `json:"name"`
		Number int    `json:"number"`
	}
)

func readContract(t *testing.T, file string) contract {
	t.Helper()
	encoded, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(encoded))
	decoder.DisallowUnknownFields()
	var c contract
	if err := decoder.Decode(&c); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return c
}

// TestDescriptorsMatchTheContract compares each version in the tree with its
// entry, in full and in order, so that neither can have what the other lacks.
func TestDescriptorsMatchTheContract(t *testing.T) {
	original, own := readContract(t, "contract.json"), readContract(t, "own.json")
	missing, in := map[string]groupVersion{}, map[string]string{}
	for file, c := range map[string]contract{"contract.json": original, "own.json": own} {
		for _, gv := range c.GroupVersions {
			missing[gv.Endpoint], in[gv.Endpoint] = gv, file
		}
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
			entry, ok := missing[got.Endpoint]
			if !ok {
				t.Fatalf("the contract has no version with the endpoint %s: %s", got.Endpoint, change(got.Group))
			}
			delete(missing, got.Endpoint)
			versions, methods = versions+1, methods+len(got.Methods)
			if diff := cmp.Diff(got, entry, cmpopts.IgnoreFields(groupVersion{}, "DescriptorFile")); diff != "" {
				t.Errorf("%s and its record in testdata/%s differ; %s (-got +want):\n%s", name, in[got.Endpoint],
					change(got.Group), diff)
			}
		})
	}
	for endpoint := range missing {
		t.Errorf("no .proto has the endpoint %s of testdata/%s", endpoint, in[endpoint])
	}
	t.Logf("compared %d versions with %d methods", versions, methods)
	wantVersions, wantMethods := original.Counts.GroupVersions+own.Counts.GroupVersions,
		original.Counts.Methods+own.Counts.Methods
	if versions != wantVersions || methods != wantMethods {
		t.Errorf("compared %d versions with %d methods, want %d and %d", versions, methods, wantVersions, wantMethods)
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

func TestContractCountsItself(t *testing.T) {
	for _, file := range []string{"contract.json", "own.json"} {
		t.Run(file, func(t *testing.T) { countsItself(t, readContract(t, file)) })
	}
}

func countsItself(t *testing.T, c contract) {
	t.Helper()
	methods := 0
	for _, gv := range c.GroupVersions {
		methods += len(gv.Methods)
	}
	if len(c.GroupVersions) != c.Counts.GroupVersions || methods != c.Counts.Methods {
		t.Errorf("it holds %d versions and %d methods; its \"counts\" say %d and %d",
			len(c.GroupVersions), methods, c.Counts.GroupVersions, c.Counts.Methods)
	}
}

// describe returns a descriptor in the terms of the contract.
func describe(file protoreflect.FileDescriptor) groupVersion {
	service := file.Services().Get(0)
	groupDir, version := path.Split(path.Dir(file.Path()))
	group := path.Base(groupDir)
	return groupVersion{
		Group:        group,
		Version:      version,
		Endpoint:     "csi-proxy-" + group + "-" + version,
		Syntax:       file.Syntax().String(),
		ProtoPackage: string(file.Package()),
		Service:      string(service.FullName()),
		Methods:      describeMethods(service),
		Messages:     describeMessages(file.Messages()),
		Enums:        describeEnums(file.Enums()),
	}
}

func describeMethods(service protoreflect.ServiceDescriptor) []method {
	methods := []method{}
	for i := range service.Methods().Len() {
		m := service.Methods().Get(i)
		methods = append(methods, method{
			Name:      string(m.Name()),
			FullPath:  "/" + string(service.FullName()) + "/" + string(m.Name()),
			Request:   string(m.Input().FullName()),
			Response:  string(m.Output().FullName()),
			Streaming: m.IsStreamingClient() || m.IsStreamingServer(),
		})
	}
	return methods
}

func describeMessages(descriptors protoreflect.MessageDescriptors) []message {
	messages := []message{}
	for i := range descriptors.Len() {
		m := descriptors.Get(i)
		fields := []field{}
		for j := range m.Fields().Len() {
			fields = append(fields, describeField(m.Fields().Get(j)))
		}
		messages = append(messages, message{Name: string(m.Name()), FullName: string(m.FullName()), Fields: fields})
	}
	return messages
}

func describeField(f protoreflect.FieldDescriptor) field {
	described := field{Name: string(f.Name()), Number: int(f.Number()), Type: typeOf(f), Label: "singular"}
	switch {
	case f.IsMap():
		described.Type, described.Label = "map", "map"
		described.MapKey, described.MapValue = typeOf(f.MapKey()), typeOf(f.MapValue())
	case f.IsList():
		described.Label = "repeated"
	case f.HasOptionalKeyword():
		described.Label = "optional"
	case f.ContainingOneof() != nil:
		described.Label = "oneof " + string(f.ContainingOneof().Name())
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

func describeEnums(descriptors protoreflect.EnumDescriptors) []enum {
	enums := []enum{}
	for i := range descriptors.Len() {
		e := descriptors.Get(i)
		values := []enumValue{}
		for j := range e.Values().Len() {
			v := e.Values().Get(j)
			values = append(values, enumValue{Name: string(v.Name()), Number: int(v.Number())})
		}
		enums = append(enums, enum{Name: string(e.Name()), FullName: string(e.FullName()), Values: values})
	}
	return enums
}
