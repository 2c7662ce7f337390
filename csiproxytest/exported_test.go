// SPDX-License-Identifier: Apache-2.0

package csiproxytest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"testing"
)

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
