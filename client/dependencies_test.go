// SPDX-License-Identifier: Apache-2.0

package client_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const modulePath = "github.com/kubernetes-csi/csi-proxy/client"

// TestDependencies keeps the module light: drivers take all that it imports.
func TestDependencies(t *testing.T) {
	allowed := []string{
		modulePath,
		"github.com/Microsoft/go-winio",
		"golang.org/x/sys",                          // which go-winio needs anyway
		"google.golang.org/genproto/googleapis/rpc", // which grpc needs anyway
		"google.golang.org/grpc",
		"google.golang.org/protobuf",
	}
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		syntax, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range syntax.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if !isStandard(imported) && !isWithin(imported, allowed) {
				t.Errorf("%s imports %s, want one of the standard library or of %q", file, imported, allowed)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// isStandard reports whether the path is one of the standard library, whose
// first element has no dot.
func isStandard(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return !strings.Contains(first, ".")
}

// isWithin reports whether the path belongs to one of modules.
func isWithin(imported string, modules []string) bool {
	for _, module := range modules {
		if imported == module || strings.HasPrefix(imported, module+"/") {
			return true
		}
	}
	return false
}
