// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite testdata/exported.txt")

const modulePath = "github.com/kubernetes-csi/csi-proxy/client"

// TestExportedNamesAreThoseThatDriversUse compares the source of every package
// that drivers import with testdata/exported.txt, in both directions.
func TestExportedNamesAreThoseThatDriversUse(t *testing.T) {
	want := readExported(t)
	dirs := []string{".", "apiversion"}
	for _, stubs := range glob(t, "api/*/*/api.proto") {
		dirs = append(dirs, strings.Replace(path.Dir(filepath.ToSlash(stubs)), "api/", "groups/", 1))
	}
	for _, dir := range glob(t, "groups/*/*") {
		if !slices.Contains(dirs, filepath.ToSlash(dir)) {
			t.Errorf("%s is a client without stubs", dir)
		}
	}
	if *update {
		writeExported(t, dirs)
		return
	}
	for _, dir := range dirs {
		t.Run(dir, func(t *testing.T) {
			names, ok := want[path.Join(modulePath, dir)]
			if !ok {
				t.Fatalf("exported.txt does not list the package; go test -update adds a new one")
			}
			if diff := cmp.Diff(exportedNames(t, dir), names); diff != "" {
				t.Errorf("exported names (-got +want):\n%s", diff)
			}
		})
	}
}

// writeExported rewrites the list from the source, for a new package. A name that goes from a released one breaks
// drivers.
func writeExported(t *testing.T, dirs []string) {
	t.Helper()
	old, err := os.ReadFile("testdata/exported.txt")
	if err != nil {
		t.Fatal(err)
	}
	header, _, _ := strings.Cut(string(old), "\npackage ")
	var text strings.Builder
	text.WriteString(header)
	slices.Sort(dirs)
	for _, dir := range dirs {
		fmt.Fprintf(&text, "\npackage %s\n", path.Join(modulePath, dir))
		for _, name := range exportedNames(t, dir) {
			fmt.Fprintf(&text, "\t%s\n", name)
		}
	}
	if err := os.WriteFile("testdata/exported.txt", []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// readExported reads the list: names by import path.
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
		}
	}
	return names
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	matches, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	return matches
}

// exportedNames lists the exported declarations in the Go files of dir, sorted,
// each on one line as it stands in the source.
func exportedNames(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	for _, file := range glob(t, filepath.Join(filepath.FromSlash(dir), "*.go")) {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range syntax.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Name.IsExported() {
					names = append(names, source(t, &ast.FuncDecl{Recv: decl.Recv, Name: decl.Name, Type: decl.Type}))
				}
			case *ast.GenDecl:
				for _, spec := range decl.Specs {
					names = append(names, exportedSpec(t, decl.Tok, spec)...)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// exportedSpec lists the exported names of one const, var or type spec.
func exportedSpec(t *testing.T, tok token.Token, spec ast.Spec) []string {
	t.Helper()
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if !spec.Name.IsExported() {
			return nil
		}
		if structure, ok := spec.Type.(*ast.StructType); ok {
			names := []string{"type " + spec.Name.Name + " struct"}
			for _, field := range structure.Fields.List {
				for _, name := range field.Names {
					if name.IsExported() {
						names = append(names, fmt.Sprintf("type %s struct, %s", spec.Name.Name, name.Name))
					}
				}
			}
			return names
		}
		return []string{"type " + spec.Name.Name + " " + source(t, spec.Type)}
	case *ast.ValueSpec:
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
	return nil
}

// source prints a piece of syntax, which must fit on one line.
func source(t *testing.T, node any) string {
	t.Helper()
	var text bytes.Buffer
	if err := format.Node(&text, token.NewFileSet(), node); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "\n") {
		t.Fatalf("declaration spans lines: %s", text.String())
	}
	return text.String()
}
