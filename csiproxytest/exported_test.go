// SPDX-License-Identifier: Apache-2.0

package csiproxytest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
)

// The guide for driver authors names methods of nodes and functions that there are.
func TestGuideNamesWhatThereIs(t *testing.T) {
	guide, err := os.ReadFile("../docs/emulated-node.md")
	if err != nil {
		t.Fatal(err)
	}
	functions := map[string]any{"Interrupt": csiproxytest.Interrupt, "StartFleet": csiproxytest.StartFleet}
	name, node, found := regexp.MustCompile("`([A-Z][A-Za-z]*)`"), reflect.TypeFor[*csiproxytest.Node](), 0
	column := 0 // of names for Go, in a table that has them
	for line := range strings.Lines(string(guide)) {
		cells := strings.Split(line, "|")
		for i, cell := range cells {
			switch {
			case len(cells) == 1:
				column = 0
			case cell == " in a Go test ":
				column = i
			case column > 0 && i == column:
				for _, match := range name.FindAllStringSubmatch(cell, -1) {
					found++
					if _, is := node.MethodByName(match[1]); !is && functions[match[1]] == nil {
						t.Errorf("there is no %s", match[1])
					}
				}
			}
		}
	}
	if found < 40 {
		t.Errorf("found only %d names", found)
	}
}

// Nothing that the package exports has an internal type, which a driver's test could not name.
func TestExportsNothingInternal(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name := file.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		internal := map[string]bool{}
		for _, imported := range parsed.Imports {
			path := strings.Trim(imported.Path.Value, `"`)
			if local := path[strings.LastIndexByte(path, '/')+1:]; strings.Contains(path, "/csi-proxy/internal/") {
				if imported.Name != nil {
					local = imported.Name.Name
				}
				internal[local] = true
			}
		}
		ast.FileExports(parsed)
		for _, declared := range parsed.Decls {
			if f, is := declared.(*ast.FuncDecl); is {
				if f.Name.Name == "FromAgent" {
					continue // for this repository's tests
				}
				f.Body = nil
			}
			if g, is := declared.(*ast.GenDecl); is && g.Tok != token.TYPE {
				continue // constants have values, which may come from anywhere
			}
			ast.Inspect(declared, func(node ast.Node) bool {
				if s, is := node.(*ast.SelectorExpr); is {
					if from, is := s.X.(*ast.Ident); is && internal[from.Name] {
						t.Errorf("%s: an exported declaration has the internal type %s.%s", name, from.Name, s.Sel.Name)
					}
				}
				return true
			})
		}
	}
}
