// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	module = "github.com/kubernetes-csi/csi-proxy"
	// mostBytes is how large the agent may be. What makes it a fifth larger at once is mostly reflection:
	// reflect.Type.MethodByName with a name that the linker does not know keeps every method of every type.
	mostBytes = 16e6
)

// A target is a system and an architecture.
type target struct{ system, arch string }

func (t target) String() string { return t.system + "/" + t.arch }

// targets are those of a release: the nodes, and where drivers are developed.
func targets() []target {
	return []target{{"windows", "amd64"}, {"windows", "arm64"}, {"linux", "amd64"}, {"linux", "arm64"}}
}

func parseTarget(text string) (target, error) {
	system, arch, ok := strings.Cut(text, "/")
	if !ok || system == "" || arch == "" || strings.Contains(arch, "/") {
		return target{}, fmt.Errorf("%q is no target, such as windows/amd64", text)
	}
	return target{system, arch}, nil
}

// commands are what is built.
func commands() []string { return []string{"csi-proxy", "csi-proxyctl"} }

// exe is a command's file name.
func (t target) exe(name string) string {
	if t.system == "windows" {
		return name + ".exe"
	}
	return name
}

func (t target) env() []string {
	return []string{"GOOS=" + t.system, "GOARCH=" + t.arch, "CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=", "GOARM64="}
}

// build builds the commands of a checkout into a directory. The files depend on the sources, the version and Go's own
// version alone: no path, time or state of git gets into them.
func build(ctx context.Context, root, dir, version string, t target, env ...string) error {
	args := []string{
		"build", "-trimpath", "-buildvcs=false", "-tags=grpcnotrace",
		"-ldflags=-s -w -buildid= -X " + module + "/internal/buildversion.linked=" + version,
		"-o", dir + string(filepath.Separator),
	}
	for _, name := range commands() {
		args = append(args, "./cmd/"+name)
	}
	if _, err := commandWith(ctx, root, append(t.env(), env...), "go", args...); err != nil {
		return err
	}
	if t.system == "windows" {
		for _, name := range commands() {
			if err := alignFile(filepath.Join(dir, t.exe(name))); err != nil {
				return err
			}
		}
	}
	info, err := os.Stat(filepath.Join(dir, t.exe("csi-proxy")))
	if err != nil {
		return err
	}
	if info.Size() > mostBytes {
		return fmt.Errorf("%s has %d bytes, more than %.0f", t.exe("csi-proxy"), info.Size(), float64(mostBytes))
	}
	return nil
}

// binaries builds the commands for the targets that the arguments name.
func (r *release) binaries(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no target is given, such as windows/amd64")
	}
	for _, arg := range args {
		t, err := parseTarget(arg)
		if err != nil {
			return err
		}
		if err := build(ctx, r.root, filepath.Join(r.out, t.arch), r.version, t); err != nil {
			return err
		}
	}
	return nil
}

// reproduce builds the agent twice, the second time from a copy of the files in another directory and with nothing in the
// compiler's cache, and compares.
func (r *release) reproduce(ctx context.Context) error {
	dir, err := os.MkdirTemp("", "reproduce")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	elsewhere := filepath.Join(dir, "another", "place")
	files, err := command(ctx, r.root, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(files), "\x00"), "\x00") {
		if err := copyFile(filepath.Join(elsewhere, name), filepath.Join(r.root, name)); err != nil {
			return err
		}
	}
	const version = "v0.0.0-reproducible"
	t := targets()[0]
	first, second := filepath.Join(dir, "first"), filepath.Join(dir, "second")
	if err := build(ctx, r.root, first, version, t); err != nil {
		return err
	}
	if err := build(ctx, elsewhere, second, version, t, "GOCACHE="+filepath.Join(dir, "cache")); err != nil {
		return err
	}
	for _, name := range commands() {
		one, err := os.ReadFile(filepath.Join(first, t.exe(name)))
		if err != nil {
			return err
		}
		other, err := os.ReadFile(filepath.Join(second, t.exe(name)))
		if err != nil {
			return err
		}
		if !bytes.Equal(one, other) {
			return fmt.Errorf("two builds of %s for %s differ, of %d and %d bytes", name, t, len(one), len(other))
		}
		_, _ = fmt.Fprintf(r.log, "%s %s: two builds in different places gave the same %d bytes, SHA-256 %s\n", name, t, len(one), sum(one))
	}
	return nil
}

// copyFile copies a file that git lists; one that is listed and was deleted is passed over.
func copyFile(to, from string) error {
	content, err := os.ReadFile(from)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, content, 0o644) //nolint:gosec // a copy for the compiler
}
