// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// A linked module has packages in a binary.
type linked struct {
	path, version string
	own           bool     // of this repository
	texts         []text   // its licences and notices
	licenses      []string // what those are: SPDX's names, sorted
}

// A text is a file with the licence terms of the files around it.
type text struct {
	name    string // below the module
	content []byte
}

// licenseFiles matches the names of licence files among a module's sources.
var licenseFiles = regexp.MustCompile(`(?i)^(un)?licen[cs]e|^copying|^notice|^patents$`)

// boring is the licence of objects in Go's own tree that are linked only with GOEXPERIMENT=boringcrypto and cgo, which
// no build here uses.
const boring = "src/crypto/internal/boring/LICENSE"

// goPackage is a package in the output of go list -json.
// https://pkg.go.dev/cmd/go#hdr-List_packages_or_modules
type goPackage struct {
	Dir, ImportPath string
	Standard        bool
	Module          *struct {
		Path, Version, Dir string
		Main               bool
		Replace            *struct{ Path, Dir string }
	}
}

const commandLine = "./cmd/csi-proxyctl"

// linkedModules returns the modules that packages of this repository's modules need for a target, including the
// standard library, sorted by path. It looks for licences in the folders of the linked packages, and in those above.
func linkedModules(ctx context.Context, dir string, t target, packages ...string) ([]linked, error) {
	list := []string{"list", "-deps", "-json=Dir,ImportPath,Standard,Module", "-tags=grpcnotrace,nethttpomithttp2"}
	var output []byte
	for _, module := range []string{commandLine, "."} { // the first is a module of its own, below the second
		var own, others []string
		for _, p := range packages {
			if below, in := strings.CutPrefix(p, module); in {
				own = append(own, "."+below)
			} else {
				others = append(others, p)
			}
		}
		if packages = others; own == nil {
			continue
		}
		more, err := command(ctx, filepath.Join(dir, module), t.env(), "go", slices.Concat(list, own)...)
		if err != nil {
			return nil, err
		}
		output = append(output, more...)
	}
	modules, seen := map[string]*linked{}, map[string]bool{}
	for decoder := json.NewDecoder(bytes.NewReader(output)); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("the output of go list: %w", err)
		}
		m, top := moduleOf(p)
		if m == nil {
			return nil, fmt.Errorf("the package %s belongs to no module", p.ImportPath)
		}
		of := m.path + "@" + m.version
		if modules[of] == nil {
			modules[of] = m
		}
		if err := modules[of].read(p.Dir, top, seen); err != nil {
			return nil, err
		}
	}
	var all []linked
	for _, m := range modules {
		m.classify()
		all = append(all, *m)
	}
	slices.SortFunc(all, func(a, b linked) int { return cmp.Compare(a.path, b.path) })
	return all, nil
}

// moduleOf returns a package's module and the module's topmost directory.
func moduleOf(p goPackage) (*linked, string) {
	switch {
	case p.Standard:
		return &linked{path: "std", version: strings.TrimPrefix(runtime.Version(), "go")}, runtime.GOROOT() //nolint:staticcheck // go run's, which is the one that builds
	case p.Module == nil:
		return nil, ""
	case p.Module.Main || p.Module.Replace != nil:
		return &linked{path: p.Module.Path, own: true}, p.Dir // the licence is the repository's
	}
	return &linked{path: p.Module.Path, version: p.Module.Version}, p.Module.Dir
}

// read reads the licences in a package's directory and those above it, up to the module's.
func (m *linked) read(dir, top string, seen map[string]bool) error {
	for ; !m.own && !seen[dir]; dir = filepath.Dir(dir) {
		seen[dir] = true
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || !licenseFiles.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
				continue
			}
			content, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return err
			}
			name, err := filepath.Rel(top, filepath.Join(dir, e.Name()))
			if err != nil {
				return err
			}
			if name = filepath.ToSlash(name); m.path == "std" && name == boring {
				continue
			}
			m.texts = append(m.texts, text{name, content})
		}
		if dir == top || filepath.Dir(dir) == dir {
			break
		}
	}
	return nil
}

// classify identifies the licences of the texts.
func (m *linked) classify() {
	slices.SortFunc(m.texts, func(a, b text) int { return cmp.Compare(a.name, b.name) })
	found := map[string]bool{}
	for _, t := range m.texts {
		for _, name := range t.licenses() {
			found[name] = true
		}
	}
	m.licenses = slices.Sorted(maps.Keys(found))
	if m.own {
		m.licenses = []string{"Apache-2.0"}
	}
}
