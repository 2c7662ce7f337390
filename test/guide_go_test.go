// SPDX-License-Identifier: Apache-2.0

//go:build unix

package test_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// quotedFrom are the files whose lines a page may show without the rest. Each compiles alone, with its testdata beside
// it.
var quotedFrom = []string{"csiproxytest/guide_test.go", "examples/driver-switch/main.go"}

// surroundings are what a page's readers have around lines that are statements, by their first line.
var surroundings = map[string]string{
	"client := csiproxy.New(csiproxy.Options{}) // connects when it is first used": `package driver

import (
	"context"
	"errors"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

func unstage(ctx context.Context, staging string) error {
	%s
	return err
}
`,
	"node, err := inprocess.Open(inprocess.Options{})": `package driver

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/inprocess"
)

func run(ctx context.Context) error {
	%s
	return err
}
`,
	"m := mounter.New(csiproxy.New(csiproxy.Options{}))": `package driver

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/mounter"
)

func serve(ctx context.Context, volumeID, source, user, password, staging, target string, readOnly bool, requiredBytes int64, credentials mounter.Credentials) error {
	%s
	return err
}
`,
	"func TestSanity(t *testing.T) {": `package driver

import (
	"testing"

	"google.golang.org/grpc"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/csisanity"
	"github.com/kubernetes-csi/csi-proxy/mounter/csicode"
)

type driver struct{}

func newDriver(*csiproxy.Client, string) *driver { return &driver{} }

func (*driver) register(*grpc.Server) {}

%s`,
}

// unused are the compiler's words about what such lines leave to the reader.
var unused = regexp.MustCompile(`(?m)^.*declared and not used: .*\n`)

// placeholder is how pages call the directory of the reader's clone.
var placeholder = regexp.MustCompile(`<[^>]*repository>`)

// imported are the packages by which a reader tries a module, by the directory that its replace line names.
var imported = map[string]string{
	"": "inprocess", "/client": "client/csiproxy", "/csisanity": "csisanity", "/mounter": "mounter", "/v2": "v2/pkg/disk",
}

// replaced matches what such a line names.
var replaced = regexp.MustCompile(`(?m)^replace \S+ => <[^>]*repository>(\S*)$`)

// resolve builds, for each block marked go.mod, a module that has this block and no other line, and imports each of the
// modules that it names: a reader may follow one section of a page.
func (g guide) resolve(t *testing.T, home, dir string) {
	t.Helper()
	for _, b := range g.blocks {
		if b.language != "go.mod" || b.notRun {
			continue
		}
		t.Logf("%s:%d: go.mod", g.path, b.line)
		var imports strings.Builder
		for _, m := range replaced.FindAllStringSubmatch(b.text, -1) {
			imports.WriteString("import _ \"github.com/kubernetes-csi/csi-proxy/" + imported[m[1]] + "\"\n")
		}
		if imports.Len() == 0 {
			t.Errorf("%s:%d: a block that replaces nothing", g.path, b.line)
		}
		at := filepath.Join(dir, "only-line"+strconv.Itoa(b.line))
		put(t, filepath.Join(at, "go.mod"), "module example.com/driver\n\ngo 1.26.0\n\n"+placeholder.ReplaceAllLiteralString(
			b.text, filepath.Join(home, "csi-proxy")))
		put(t, filepath.Join(at, "main.go"), "package main\n\n"+imports.String()+"\nfunc main() {}\n")
		build(t, at, b.text, []string{"mod", "tidy"}, []string{"build", "-o", os.DevNull, "."})
	}
}

// build runs go commands in a module whose go.mod has certain lines.
func build(t *testing.T, dir, lines string, steps ...[]string) {
	t.Helper()
	for _, args := range steps {
		command := exec.CommandContext(t.Context(), "go", args...)
		command.Dir = dir
		command.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-trimpath -tags=grpcnotrace,nethttpomithttp2")
		out, err := command.CombinedOutput()
		if rest := unused.ReplaceAllString(string(out), ""); err != nil && regexp.MustCompile(`(?m)^[^#]`).MatchString(rest) {
			t.Fatalf("go %s in a module with\n%s\n%v\n%s", strings.Join(args, " "), lines, err, out)
		}
	}
}

// compile compiles the Go blocks of a page in a module of the reader's, outside of this repository. The module has the
// lines of the page's blocks marked go.mod, and no others. A block is a whole file, or lines of one that compiles.
func (g guide) compile(t *testing.T, home string) {
	t.Helper()
	dir := filepath.Join(home, "reader", strings.NewReplacer("/", "-", ".md", "").Replace(g.path))
	g.resolve(t, home, dir+"-lines")
	var module strings.Builder
	module.WriteString("module example.com/driver\n\ngo 1.26.0\n")
	var files bool
	var tests []string
	for _, b := range g.blocks {
		if b.notRun {
			continue
		}
		switch b.language {
		case "go.mod":
			module.WriteString("\n" + placeholder.ReplaceAllLiteralString(b.text, filepath.Join(home, "csi-proxy")))
		case "go":
			t.Logf("%s:%d: go", g.path, b.line)
			files = true
			if at := g.write(t, dir, b); at != "" {
				tests = append(tests, "./"+at)
			}
		}
	}
	if !files {
		return
	}
	put(t, filepath.Join(dir, "go.mod"), module.String())
	steps := [][]string{{"mod", "tidy"}, {"build", "-gcflags=-e", "./..."}}
	if tests != nil {
		steps = append(steps, append([]string{"test"}, tests...))
	}
	build(t, dir, module.String(), steps...)
}

// write puts a block into a package of its own, or the file that it quotes. It returns the package's folder if that is a
// test.
func (g guide) write(t *testing.T, dir string, b block) string {
	t.Helper()
	folder := "line" + strconv.Itoa(b.line)
	if strings.HasPrefix(b.text, "package ") {
		if strings.Contains(b.text, "\nfunc Test") {
			put(t, filepath.Join(dir, folder, "block_test.go"), b.text)
			return folder
		}
		put(t, filepath.Join(dir, folder, "block.go"), b.text)
		return ""
	}
	first, _, _ := strings.Cut(b.text, "\n")
	if around, ok := surroundings[first]; ok {
		put(t, filepath.Join(dir, folder, "block.go"), strings.Replace(around, "%s", b.text, 1))
		return ""
	}
	for _, file := range quotedFrom {
		content, err := os.ReadFile(filepath.Join(root, file))
		caller.OK(t, err)
		if !strings.Contains(string(content), b.text) {
			continue
		}
		folder = strings.NewReplacer("/", "-", ".", "-").Replace(file)
		put(t, filepath.Join(dir, folder, filepath.Base(file)), string(content))
		if data := filepath.Join(root, filepath.Dir(file), "testdata"); exists(data) {
			if err := os.CopyFS(filepath.Join(dir, folder, "testdata"), os.DirFS(data)); err != nil && !os.IsExist(err) {
				t.Fatal(err)
			}
		}
		if strings.HasSuffix(file, "_test.go") {
			return folder
		}
		return ""
	}
	t.Errorf("%s:%d: neither a file, which begins with its package, nor lines of one of %q, nor statements that the "+
		"test knows how to surround", g.path, b.line, slices.Clone(quotedFrom))
	return ""
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func put(t *testing.T, path, content string) {
	t.Helper()
	caller.OK(t, os.MkdirAll(filepath.Dir(path), 0o750))
	caller.OK(t, os.WriteFile(path, []byte(content), 0o600))
}
