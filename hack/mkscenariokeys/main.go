// SPDX-License-Identifier: Apache-2.0

// Command mkscenariokeys writes the keys of scenario files into docs/scenario-files.md. The words of a key are its
// field's comment, which stands behind the field or else above.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// Directories are relative to package scenario's, where go generate runs.
const page, begin, end = "../../../docs/scenario-files.md", "<!-- keys -->\n", "<!-- end of keys -->\n"

var sections = []struct{ title, dir, typeName string }{ // never changes
	{"The file", ".", "Scenario"},
	{"switches", ".", "Switches"},
	{"systemDisk, disks[]", "../bundle", "Spec"},
	{"adapters[]", ".", "Adapter"},
	{"identifiers[], of disks and logical units", "../setting", "Identifier"},
	{"services[]", "../services", "Spec"},
	{"smbUsers[]", "../smb", "User"},
	{"smbServers[]", "../smb", "Server"},
	{"smbServers[].shares[]", "../smb", "Share"},
	{"iscsiPortals[]", "../iscsi", "Portal"},
	{"iscsiPortals[].targets[]", "../iscsi", "Target"},
	{"iscsiPortals[].targets[].luns[]", "../iscsi", "LUN"},
}

func main() {
	text, err := os.ReadFile(page)
	exit(err)
	before, rest, _ := strings.Cut(string(text), begin)
	_, after, found := strings.Cut(rest, end)
	if !found {
		exit(errors.New("the page has no place for the keys"))
	}
	var keys strings.Builder
	for _, s := range sections {
		fmt.Fprintf(&keys, "\n### %s\n\n", s.title)
		writeKeys(&keys, s.dir, s.typeName)
	}
	exit(os.WriteFile(page, []byte(before+begin+keys.String()+"\n"+end+after), 0o644)) //nolint:gosec // a document
}

func writeKeys(to *strings.Builder, dir, typeName string) {
	for _, f := range structOf(dir, typeName).Fields.List {
		tag := reflect.StructTag(strings.Trim(f.Tag.Value, "`"))
		key, options, _ := strings.Cut(cmp.Or(tag.Get("yaml"), tag.Get("json")), ",")
		if inner, ok := f.Type.(*ast.Ident); ok && options == "inline" {
			writeKeys(to, dir, inner.Name)
		} else if key != "-" {
			words := strings.Join(strings.Fields(cmp.Or(f.Comment, f.Doc).Text()), " ")
			if words == "" {
				exit(fmt.Errorf("%s.%s has no comment for the key %s", typeName, f.Names[0], key))
			}
			fmt.Fprintf(to, "- `%s`: %s.\n", key, words)
		}
	}
}

// structOf returns a struct type of the package in a directory.
func structOf(dir, name string) (found *ast.StructType) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	exit(err)
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		exit(err)
		ast.Inspect(parsed, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok && spec.Name.Name == name && found == nil {
				found, _ = spec.Type.(*ast.StructType)
			}
			return true
		})
	}
	if found == nil {
		exit(fmt.Errorf("%s has no struct %s", dir, name))
	}
	return found
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "mkscenariokeys:", err)
		os.Exit(1) //nolint:forbidigo // this is main
	}
}
