// SPDX-License-Identifier: Apache-2.0

package csiproxy_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// The package has a name without a version for every stub, message and enum of the versions that its Client speaks, and
// no others.
func TestMessagesHaveNames(t *testing.T) {
	source, err := parser.ParseFile(token.NewFileSet(), "messages.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range source.Decls {
		for _, spec := range d.(*ast.GenDecl).Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				got = append(got, s.Name.Name+" = "+versioned(t, source, s.Type))
			case *ast.ValueSpec:
				got = append(got, s.Names[0].Name+" = "+versioned(t, source, s.Values[0]))
			}
		}
	}
	slices.Sort(got)
	if diff := cmp.Diff(got, wantNames(t)); diff != "" {
		t.Errorf("names in messages.go (-got +want):\n%s", diff)
	}
}

// versioned returns what an expression such as diskapi.DiskIDs stands for: disk/v1.DiskIDs.
func versioned(t *testing.T, source *ast.File, e ast.Expr) string {
	t.Helper()
	selector, ok := e.(*ast.SelectorExpr)
	if !ok {
		t.Fatalf("%T is not a name of another package", e)
	}
	for _, i := range source.Imports {
		if i.Name.Name == selector.X.(*ast.Ident).Name {
			dir, version := path.Split(strings.Trim(i.Path.Value, `"`))
			return path.Base(dir) + "/" + version + "." + selector.Sel.Name
		}
	}
	t.Fatalf("%v is not imported", selector.X)
	return ""
}

// wantNames returns the names that the fields of the Client, which are the stubs of its versions, call for.
func wantNames(t *testing.T) []string {
	t.Helper()
	var want []string
	client := reflect.TypeFor[csiproxy.Client]()
	for i := range client.NumField() {
		stub := client.Field(i).Type
		if !client.Field(i).IsExported() || stub.Kind() != reflect.Interface {
			continue
		}
		request := reflect.New(stub.Method(0).Type.In(1).Elem()).Interface().(proto.Message)
		file := request.ProtoReflect().Descriptor().ParentFile()
		dir, version := path.Split(path.Dir(file.Path()))
		place := path.Base(dir) + "/" + version + "."
		want = append(want, stub.Name()+" = "+place+stub.Name())
		for i := range file.Messages().Len() {
			name := string(file.Messages().Get(i).Name())
			want = append(want, name+" = "+place+name)
		}
		for i := range file.Enums().Len() {
			want = append(want, enumNames(file.Enums().Get(i), place)...)
		}
	}
	slices.Sort(want)
	return want
}

func enumNames(e protoreflect.EnumDescriptor, place string) []string {
	name := string(e.Name())
	names := []string{name + " = " + place + name}
	for i := range e.Values().Len() {
		value := name + "_" + string(e.Values().Get(i).Name())
		names = append(names, value+" = "+place+value)
	}
	return names
}
