// SPDX-License-Identifier: Apache-2.0

package reason_test

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite docs/apis/reasons.md")

// TestReferencePage compares docs/apis/reasons.md with the constants and their comments, where the reasons are
// documented.
func TestReferencePage(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "reason.go", nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Builder{}
	page.WriteString("<!-- Generated from client/reason by `go test ./client/reason -update`. -->\n\n# Reasons\n\n" +
		unwrap(strings.Replace(file.Doc.Text(), "Package reason", "Package `client/reason`", 1)) + "\n")
	seen := map[string]bool{}
	for _, declaration := range file.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		page.WriteString("\n## " + strings.TrimSuffix(unwrap(group.Doc.Text()), ".") + "\n\n")
		for _, spec := range group.Specs {
			constant := spec.(*ast.ValueSpec)
			name := constant.Names[0].Name
			value, err := strconv.Unquote(constant.Values[0].(*ast.BasicLit).Value)
			if err != nil || seen[value] {
				t.Errorf("%s = %s: %v, or declared twice", name, value, err)
			}
			seen[value] = true
			meaning, ok := strings.CutPrefix(unwrap(constant.Doc.Text()), name+": ")
			if !ok {
				t.Errorf("the comment of %s does not begin with its name", name)
			}
			page.WriteString("- `" + value + "`: " + meaning + "\n")
		}
	}
	const path = "../../docs/apis/reasons.md"
	text := page.String()
	if *update {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if kept, err := os.ReadFile(path); err != nil || string(kept) != text {
		t.Errorf("%s differs from the constants (%v); run this test with -update", path, err)
	}
}

func unwrap(text string) string { return strings.TrimRight(strings.ReplaceAll(text, "\n", " "), " ") }
