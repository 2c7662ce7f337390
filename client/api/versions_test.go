// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/descriptorpb"

	_ "github.com/kubernetes-csi/csi-proxy/client/api"
	_ "github.com/kubernetes-csi/csi-proxy/client/internal/everyversion"
)

// registeredDir is the folder under which this module's files are registered.
const registeredDir = "client/api"

// protoFiles returns the registered names of the .proto files in the tree.
func protoFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, pattern := range []string{"*.proto", "*/*/*.proto"} {
		matches, err := fs.Glob(os.DirFS("."), pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range matches {
			files = append(files, path.Join(registeredDir, match))
		}
	}
	slices.Sort(files)
	return files
}

// registered returns the descriptor of a file that the tree holds.
func registered(t *testing.T, file string) protoreflect.FileDescriptor {
	t.Helper()
	descriptor, err := protoregistry.GlobalFiles.FindFileByPath(file)
	if err != nil {
		t.Fatalf("%s is in the tree, and its Go package is not linked; run make generate: %v", file, err)
	}
	return descriptor
}

// TestImageHoldsTheTree checks that the image against which buf looks for breaking changes is complete and up to date:
// a version missing from it could be changed at will. The server's reflection answers from it, too.
func TestImageHoldsTheTree(t *testing.T) {
	encoded, err := os.ReadFile("image.binpb")
	if err != nil {
		t.Fatal(err)
	}
	var image descriptorpb.FileDescriptorSet
	if err := proto.Unmarshal(encoded, &image); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, file := range image.GetFile() {
		got = append(got, file.GetName())
		file.ProtoReflect().SetUnknown(nil) // buf's own
		want := protodesc.ToFileDescriptorProto(registered(t, file.GetName()))
		if diff := cmp.Diff(file, want, protocmp.Transform()); diff != "" {
			t.Errorf("client/api/image.binpb has another %s; run make image (-got +want):\n%s", file.GetName(), diff)
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(got, protoFiles(t)); diff != "" {
		t.Errorf("files of client/api/image.binpb; after adding a version run make image (-got +want):\n%s", diff)
	}
}
