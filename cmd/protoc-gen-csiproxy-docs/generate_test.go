// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"

	"github.com/kubernetes-csi/csi-proxy/client/versions"
)

//go:generate env -C testdata/example ../../../../hack/buf.sh build --as-file-descriptor-set -o ../example.txtpb

var update = flag.Bool("update", false, "rewrite the expected pages in testdata")

// exampleTables returns the tables of the API in testdata/example. The gates' v2alpha1 and the lamps have no rows.
func exampleTables() []versions.Group {
	return []versions.Group{{Name: "gate", Service: "Gate", Hub: "v1", Routes: []versions.Route{
		{In: "v1alpha1", Method: "OpenGate", Kind: versions.Extra, Hub: "Open"},
		{In: "v1alpha1", Method: "Look", Kind: versions.Mapped, Hub: "Look"},
		{In: "v1alpha1", Method: "Peep", Kind: versions.Same, Hub: "Look"},
		{In: "v1alpha1", Method: "Glance", Kind: versions.Alone},
	}}}
}

func example(t *testing.T) *descriptorpb.FileDescriptorSet {
	t.Helper()
	text, err := os.ReadFile("testdata/example.txtpb")
	if err != nil {
		t.Fatal(err)
	}
	var set descriptorpb.FileDescriptorSet
	if err := prototext.Unmarshal(text, &set); err != nil {
		t.Fatal(err)
	}
	return &set
}

// run runs the plugin on all files of a set, with the tables of the example, and returns its answer.
func run(t *testing.T, set *descriptorpb.FileDescriptorSet) *pluginpb.CodeGeneratorResponse {
	t.Helper()
	request := &pluginpb.CodeGeneratorRequest{ProtoFile: set.GetFile()}
	for _, file := range set.GetFile() {
		request.FileToGenerate = append(request.FileToGenerate, file.GetName())
	}
	plugin, err := protogen.Options{}.New(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := generate(plugin, exampleTables()); err != nil {
		t.Fatal(err)
	}
	return plugin.Response()
}

func TestGenerate(t *testing.T) {
	var b strings.Builder
	for _, file := range run(t, example(t)).GetFile() {
		b.WriteString("-- " + file.GetName() + " --\n" + file.GetContent())
	}
	const golden = "testdata/example.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), strings.ReplaceAll(string(want), "\r\n", "\n")); diff != "" {
		t.Errorf("pages (-got +want); go test -update writes them anew:\n%s", diff)
	}
}

// TestGenerateIsDeterministic gives the files in another order.
func TestGenerateIsDeterministic(t *testing.T) {
	set := example(t)
	first := run(t, set)
	slices.Reverse(set.GetFile())
	if diff := cmp.Diff(first.String(), run(t, set).String()); diff != "" {
		t.Errorf("two runs differ (-first +second):\n%s", diff)
	}
}
