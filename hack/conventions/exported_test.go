// SPDX-License-Identifier: Apache-2.0

package conventions_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite client/testdata/exported.txt")

// TestExportedNamesAreThoseThatDriversUse compares the source of every package that drivers import with the
// testdata/exported.txt of its module, in both directions.
func TestExportedNamesAreThoseThatDriversUse(t *testing.T) {
	inRoot(t)
	for module, patterns := range map[string][]string{
		"client": {"", "apiversion", "groups/*/*"}, "v2": {"pkg/*", "pkg/*/*"},
	} {
		got := map[string][]string{}
		for _, pattern := range patterns {
			for _, dir := range glob(t, path.Join(module, pattern)) {
				if names := exportedNames(t, dir); names != nil {
					got[filepath.ToSlash(dir)] = names
				}
			}
		}
		list := filepath.Join(module, "testdata", "exported.txt")
		if *update && module == "client" {
			writeExported(t, list, got)
		} else if diff := cmp.Diff(got, readExported(t, list)); diff != "" {
			t.Errorf("exported names (-got +want); go test -update adds a new package of client:\n%s", diff)
		}
	}
	for _, dir := range glob(t, "client/groups/*/*") {
		if stubs := strings.Replace(filepath.ToSlash(dir), "/groups/", "/api/", 1); len(glob(t, stubs+"/api.proto")) == 0 {
			t.Errorf("%s is a client without stubs", dir)
		}
	}
	for _, stubs := range glob(t, "client/api/*/*/api.proto") {
		if dir := strings.Replace(filepath.ToSlash(filepath.Dir(stubs)), "/api/", "/groups/", 1); len(glob(t, dir)) == 0 {
			t.Errorf("%s has no client", stubs)
		}
	}
}

const exportedPrefix = "package github.com/kubernetes-csi/csi-proxy/"

// writeExported rewrites the list from the source, for a new package. A name that goes from a released one breaks
// drivers.
func writeExported(t *testing.T, file string, packages map[string][]string) {
	t.Helper()
	header, _, _ := strings.Cut(read(t, file), "\npackage ")
	text := bytes.NewBufferString(header)
	for _, dir := range slices.Sorted(maps.Keys(packages)) {
		fmt.Fprintf(text, "\n%s%s\n\t%s\n", exportedPrefix, dir, strings.Join(packages[dir], "\n\t"))
	}
	if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// readExported reads the list: names by folder, without those that are left out.
func readExported(t *testing.T, file string) map[string][]string {
	t.Helper()
	names, current := map[string][]string{}, ""
	for line := range strings.Lines(read(t, file)) {
		line = strings.TrimRight(line, "\r\n")
		if dir, ok := strings.CutPrefix(line, exportedPrefix); ok {
			current = dir
		} else if name, ok := strings.CutPrefix(strings.TrimPrefix(line, "+"), "\t"); ok {
			names[current] = append(names[current], name)
		}
	}
	for _, list := range names {
		slices.Sort(list)
	}
	return names
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	matches, err := filepath.Glob(filepath.FromSlash(pattern))
	if err != nil {
		t.Fatal(err)
	}
	return matches
}

// exportedNames lists the exported declarations in the Go files of dir, sorted.
func exportedNames(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	for _, file := range glob(t, path.Join(filepath.ToSlash(dir), "*.go")) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.FileExports(syntax)
		for _, decl := range syntax.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				decl.Body = nil
				names = append(names, declared(t, decl)...)
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					names = append(names, declared(t, &ast.GenDecl{Tok: decl.Tok, Specs: []ast.Spec{spec}})...)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// declared returns a declaration as a line, and each field or method of a type as another, without the names of
// parameters and results.
func declared(t *testing.T, decl ast.Decl) []string {
	t.Helper()
	members := &ast.FieldList{}
	ast.Inspect(decl, func(node ast.Node) bool {
		switch of := node.(type) {
		case *ast.FuncDecl:
			if of.Recv != nil {
				of.Recv.List[0].Names = nil
			}
		case *ast.StructType:
			members, of.Incomplete = of.Fields, false
		case *ast.InterfaceType:
			members = of.Methods
		case *ast.FuncType:
			for _, list := range []*ast.FieldList{of.Params, of.Results} {
				if list == nil {
					continue
				}
				var types []*ast.Field
				for _, field := range list.List {
					types = append(types, slices.Repeat([]*ast.Field{{Type: field.Type}}, max(1, len(field.Names)))...)
				}
				list.List = types
			}
		}
		return true
	})
	fields := members.List
	members.List = nil
	lines := []string{strings.TrimRight(source(t, decl), " {}\n")}
	for _, field := range fields {
		of := strings.TrimPrefix(source(t, field.Type), "func")
		if _, method := field.Type.(*ast.FuncType); !method {
			of = " " + of
		}
		if field.Tag != nil {
			of += " " + field.Tag.Value
		}
		for _, name := range field.Names {
			lines = append(lines, lines[0]+", "+name.Name+of)
		}
	}
	return lines
}

// source prints a piece of syntax on one line.
func source(t *testing.T, node any) string {
	t.Helper()
	var text bytes.Buffer
	if err := format.Node(&text, token.NewFileSet(), node); err != nil {
		t.Fatal(err)
	}
	return text.String()
}
