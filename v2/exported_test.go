// SPDX-License-Identifier: Apache-2.0

package v2_test

import (
	"bytes"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const modulePath = "github.com/kubernetes-csi/csi-proxy/v2"

// TestExportedNamesAreThoseThatDriversUse compares the source of every package that drivers import with
// testdata/exported.txt, in both directions.
func TestExportedNamesAreThoseThatDriversUse(t *testing.T) {
	want := readExported(t)
	got := map[string][]string{}
	err := filepath.WalkDir("pkg", func(dir string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			if names := exportedNames(t, dir); names != nil {
				got[path.Join(modulePath, filepath.ToSlash(dir))] = names
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("exported names (-got +want):\n%s", diff)
	}
}

// readExported reads the list: names by import path, without those that are left out.
func readExported(t *testing.T) map[string][]string {
	t.Helper()
	text, err := os.ReadFile("testdata/exported.txt")
	if err != nil {
		t.Fatal(err)
	}
	names, current := map[string][]string{}, ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if importPath, ok := strings.CutPrefix(line, "package "); ok {
			current = importPath
		} else if name, ok := strings.CutPrefix(line, "\t"); ok {
			names[current] = append(names[current], name)
		} else if name, ok := strings.CutPrefix(line, "+\t"); ok {
			names[current] = append(names[current], name)
		}
	}
	for _, list := range names {
		slices.Sort(list)
	}
	return names
}

// exportedNames lists the exported declarations in the Go files of dir, sorted.
func exportedNames(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
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
