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
		names = append(names, declared(t, syntax)...)
	}
	slices.Sort(names)
	return names
}

// declared lists the exported declarations of a file, each on one line, without the names of parameters and results.
func declared(t *testing.T, file *ast.File) []string {
	t.Helper()
	var names []string
	for _, decl := range file.Decls {
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			if decl.Name.IsExported() && exportedReceiver(decl) {
				name := decl.Name.Name
				if decl.Recv != nil {
					name = "(" + source(t, decl.Recv.List[0].Type) + ") " + name
				}
				names = append(names, "func "+name+signature(t, decl.Type))
			}
		case *ast.GenDecl:
			for _, spec := range decl.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, declaredType(t, spec)...)
				case *ast.ValueSpec:
					names = append(names, declaredValues(t, decl.Tok, spec)...)
				}
			}
		}
	}
	return names
}

func exportedReceiver(decl *ast.FuncDecl) bool {
	if decl.Recv == nil {
		return true
	}
	of := decl.Recv.List[0].Type
	if pointer, ok := of.(*ast.StarExpr); ok {
		of = pointer.X
	}
	name, ok := of.(*ast.Ident)
	return ok && name.IsExported()
}

// declaredType lists a type, the exported fields of a struct, and the methods of an interface.
func declaredType(t *testing.T, spec *ast.TypeSpec) []string {
	t.Helper()
	if !spec.Name.IsExported() {
		return nil
	}
	var names []string
	switch of := spec.Type.(type) {
	case *ast.StructType:
		prefix := "type " + spec.Name.Name + " struct"
		names = []string{prefix}
		for _, field := range of.Fields.List {
			for _, name := range field.Names {
				if name.IsExported() {
					text := prefix + ", " + name.Name + " " + source(t, field.Type)
					if field.Tag != nil {
						text += " " + field.Tag.Value
					}
					names = append(names, text)
				}
			}
		}
	case *ast.InterfaceType:
		prefix := "type " + spec.Name.Name + " interface"
		names = []string{prefix}
		for _, method := range of.Methods.List {
			function, ok := method.Type.(*ast.FuncType)
			if !ok {
				t.Fatalf("%s embeds something", prefix)
			}
			names = append(names, prefix+", "+method.Names[0].Name+signature(t, function))
		}
	default:
		names = []string{"type " + spec.Name.Name + " " + source(t, spec.Type)}
	}
	return names
}

func declaredValues(t *testing.T, tok token.Token, spec *ast.ValueSpec) []string {
	t.Helper()
	var names []string
	for i, name := range spec.Names {
		if !name.IsExported() {
			continue
		}
		text := tok.String() + " " + name.Name
		if spec.Type != nil {
			text += " " + source(t, spec.Type)
		}
		if i < len(spec.Values) {
			text += " = " + source(t, spec.Values[i])
		}
		names = append(names, text)
	}
	return names
}

// signature returns (types of parameters) (types of results).
func signature(t *testing.T, f *ast.FuncType) string {
	t.Helper()
	text := "(" + types(t, f.Params) + ")"
	if f.Results.NumFields() > 0 {
		text += " (" + types(t, f.Results) + ")"
	}
	return text
}

func types(t *testing.T, list *ast.FieldList) string {
	t.Helper()
	var all []string
	for _, field := range list.List {
		for range max(1, len(field.Names)) {
			all = append(all, source(t, field.Type))
		}
	}
	return strings.Join(all, ", ")
}

// source prints a piece of syntax on one line.
func source(t *testing.T, node any) string {
	t.Helper()
	var text bytes.Buffer
	if err := format.Node(&text, token.NewFileSet(), node); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "\n") {
		t.Fatalf("a declaration spans lines: %s", &text)
	}
	return text.String()
}
