// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/compiler/protogen"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/pluginpb"
)

var update = flag.Bool("update", false, "rewrite the expected results in testdata")

// TestGenerate runs the plugin on each testdata/NAME.request.txtpb, a
// CodeGeneratorRequest, and compares its whole answer with NAME.golden.
func TestGenerate(t *testing.T) {
	requests, err := filepath.Glob("testdata/*.request.txtpb")
	if err != nil || len(requests) == 0 {
		t.Fatalf("no requests in testdata: %v", err)
	}
	for _, request := range requests {
		base := strings.TrimSuffix(request, ".request.txtpb")
		t.Run(filepath.Base(base), func(t *testing.T) {
			got := answer(t, request)
			golden := base + ".golden"
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(got, strings.ReplaceAll(string(want), "\r\n", "\n")); diff != "" {
				t.Errorf("answer (-got +want):\n%s", diff)
			}
		})
	}
}

// answer runs the plugin on the request in file and renders its answer: each
// generated file under its name, or the error.
func answer(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var request pluginpb.CodeGeneratorRequest
	if err := prototext.Unmarshal(text, &request); err != nil {
		t.Fatal(err)
	}
	library := ""
	plugin, err := protogen.Options{ParamFunc: func(_, value string) error { library = value; return nil }}.New(&request)
	if err != nil {
		t.Fatal(err)
	}
	if err := generate(plugin, library); err != nil {
		return "error: " + err.Error() + "\n"
	}
	response := plugin.Response()
	if response.Error != nil {
		return "error: " + response.GetError() + "\n"
	}
	if len(response.GetFile()) == 0 {
		return "no files\n"
	}
	var rendered strings.Builder
	for _, generated := range response.GetFile() {
		rendered.WriteString("-- " + generated.GetName() + " --\n" + generated.GetContent())
	}
	return rendered.String()
}

// TestGenerateDeclaresOptionalFields checks the features that newer compilers demand of plugins.
func TestGenerateDeclaresOptionalFields(t *testing.T) {
	plugin, err := protogen.Options{}.New(
		&pluginpb.CodeGeneratorRequest{CompilerVersion: &pluginpb.Version{Major: proto.Int32(3)}})
	if err != nil {
		t.Fatal(err)
	}
	if err := generate(plugin, ""); err != nil {
		t.Fatal(err)
	}
	if got, want := plugin.Response().GetSupportedFeatures(),
		uint64(pluginpb.CodeGeneratorResponse_FEATURE_PROTO3_OPTIONAL); got != want {
		t.Errorf("supported features = %d, want %d", got, want)
	}
}

func TestPlaceOf(t *testing.T) {
	tests := []struct {
		name       string
		importPath protogen.GoImportPath
		want       apiPackage
		wantOK     bool
	}{
		{"a version", "example.com/m/api/disk/v1", apiPackage{"example.com/m", "disk", "v1"}, true},
		{"api twice", "example.com/api/api/disk/v1", apiPackage{"example.com/api", "disk", "v1"}, true},
		{"no version", "example.com/m/api/disk", apiPackage{}, false},
		{"too deep", "example.com/m/api/disk/v1/deep", apiPackage{}, false},
		{"other folder", "example.com/m/rpc/disk/v1", apiPackage{}, false},
		{"no module", "api/disk/v1", apiPackage{}, false},
		{"empty", "", apiPackage{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := apiPackageOf(tt.importPath)
			if got != tt.want || ok != tt.wantOK {
				t.Errorf("apiPackageOf(%q) = %+v, %v, want %+v, %v", tt.importPath, got, ok, tt.want, tt.wantOK)
			}
		})
	}
}
