// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/ast"
	"go/build"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A directory is one whose Go declares something about Windows.
type directory struct {
	path        string
	windowsOnly bool // only files whose name says that they are for Windows
	encoded     bool // its structures are never handed to Windows: they are encoded, and layout.txt has their bytes
}

var directories = []directory{
	{"internal/agent/win32", false, true},
	{"internal/emulated/deviceside", false, true},
	{"internal/agent/kernel/windows", false, false},
	{"internal/agent/kernel/windows/winapi", false, false},
	{"internal/agent/kernel/windows/wmi", false, false},
	{"internal/agent/winservice", false, false},
	{"internal/agent/transport", true, false},
	{"cmd/csi-proxy", true, false},
	{"internal/testing/winapitest", false, false},
}

// A unit is the checked source of a directory.
type unit struct {
	directory
	name  string // in headers.txt
	files []*ast.File
	pkg   *types.Package
	info  *types.Info
}

type source struct {
	fset  *token.FileSet
	sizes types.Sizes
	units []*unit
}

// readSource reads the directories as they are built for Windows on x64. Every type that Windows sees comes from the Go
// distribution, golang.org/x/sys/windows or these directories; other imports may stay unknown.
func readSource() (*source, error) {
	exported, err := exports("golang.org/x/sys/windows", "golang.org/x/sys/windows/svc", "time")
	if err != nil {
		return nil, err
	}
	s := &source{token.NewFileSet(), types.SizesFor("gc", "amd64"), nil}
	known := importer.ForCompiler(s.fset, "gc", func(path string) (io.ReadCloser, error) {
		file, ok := exported[path]
		if !ok {
			return nil, fmt.Errorf("%s is not needed", path)
		}
		return os.Open(file)
	})
	own := map[string]*types.Package{}
	imports := importerFunc(func(path string) (*types.Package, error) {
		if path == "unsafe" {
			return types.Unsafe, nil
		}
		if p, ok := own[path]; ok {
			return p, nil
		}
		return known.Import(path)
	})
	target := build.Default
	target.GOOS, target.GOARCH, target.CgoEnabled = "windows", "amd64", false
	for _, d := range directories {
		found, err := target.ImportDir(d.path, 0)
		if err != nil {
			return nil, err
		}
		u := &unit{directory: d, name: strings.TrimPrefix(strings.TrimPrefix(d.path, "internal/agent/"), "internal/"), info: &types.Info{
			Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{},
		}}
		var all []*ast.File
		for _, name := range found.GoFiles {
			file, err := parser.ParseFile(s.fset, filepath.Join(d.path, name), nil, parser.ParseComments)
			if err != nil {
				return nil, err
			}
			all = append(all, file)
			if !d.windowsOnly || strings.HasSuffix(name, "_windows.go") {
				u.files = append(u.files, file)
			}
		}
		config := types.Config{Importer: imports, Sizes: s.sizes, Error: func(error) {}}
		u.pkg, _ = config.Check(d.path, s.fset, all, u.info) // unknown imports are errors
		own["github.com/kubernetes-csi/csi-proxy/"+d.path] = u.pkg
		s.units = append(s.units, u)
	}
	return s, nil
}

type importerFunc func(path string) (*types.Package, error)

func (f importerFunc) Import(path string) (*types.Package, error) { return f(path) }

// exports returns the compiler's export data of packages and of what they import.
func exports(packages ...string) (map[string]string, error) {
	command := exec.Command("go", append([]string{"list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}"},
		packages...)...)
	command.Env = append(os.Environ(), "GOOS=windows", "GOARCH=amd64", "CGO_ENABLED=0")
	output, err := command.Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return nil, fmt.Errorf("go list: %s", bytes.TrimSpace(exit.Stderr))
	}
	if err != nil {
		return nil, err
	}
	files := map[string]string{}
	for line := range strings.Lines(string(output)) {
		if path, file, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			files[path] = file
		}
	}
	return files, nil
}
