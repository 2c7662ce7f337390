// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
)

func TestSecondOpenIsRefused(t *testing.T) {
	if dir := os.Getenv("EMULATED_LOCK_DIR"); dir != "" { // the other process
		_, err := Open(dir, Options{})
		if want := fmt.Sprintf("in use by process %d", os.Getppid()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
		return
	}
	dir := t.TempDir()
	n := openNode(t, dir, Options{Scenario: smallScenario()})
	want := fmt.Sprintf("in use by process %d", os.Getpid())
	if _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v, want %s", err, want)
	}
	other := exec.Command(os.Args[0], "-test.run", "^TestSecondOpenIsRefused$")
	other.Env = append(os.Environ(), "EMULATED_LOCK_DIR="+dir)
	if out, err := other.CombinedOutput(); err != nil {
		t.Errorf("other process: %v\n%s", err, out)
	}
	must(t, n.Close())
	openNode(t, dir, Options{})
}

func TestDamagedState(t *testing.T) {
	state := func(dir, _ string) string { return filepath.Join(dir, stateFile) }
	image := func(_, image string) string { return image }
	edited := func(edit func(string) string) func(string) error {
		return func(file string) error {
			text, err := os.ReadFile(file)
			return errors.Join(err, os.WriteFile(file, []byte(edit(string(text))), 0o600))
		}
	}
	replaced := func(old, by string) func(string) error {
		return edited(func(s string) string { return strings.Replace(s, old, by, 1) })
	}
	cutAt := func(bytes int64) func(string) error {
		return func(file string) error { return os.Truncate(file, bytes) }
	}
	for name, c := range map[string]struct {
		file   func(dir, image string) string // the one that is damaged
		damage func(file string) error
		want   string
	}{
		"edited":         {state, replaced(`"sectorSize":512`, `"sectorSize":513`), "sectors of 513 bytes"},
		"cut off":        {state, edited(func(s string) string { return s[:len(s)/2] }), "JSON"},
		"empty":          {state, cutAt(0), "JSON"},
		"newer":          {state, replaced(`"format":1`, `"format":2`), "format 2"},
		"no format":      {state, edited(func(string) string { return "{}" }), "format 0"},
		"missing":        {state, os.Remove, "missing"},
		"no image":       {image, os.Remove, syscall.ENOENT.Error()},
		"short image":    {image, cutAt(4096), "it has 4096 bytes, and had 134217728"},
		"image that was": {image, cutAt(64 << 20), "it has 67108864 bytes, and had 134217728"}, // before it grew
		"linked image": {image, func(file string) error {
			moved := filepath.Join(filepath.Dir(file), "moved-"+bundle.ImageFile)
			return errors.Join(os.Rename(file, moved), os.Symlink(moved, file))
		}, "it is a link"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "linked image" && runtime.GOOS == "windows" {
				t.Skip("require links: only an administrator may make them there")
			}
			dir := t.TempDir()
			n := openNode(t, dir, Options{Scenario: smallScenario()})
			must(t, n.GrowDisk(1, 128<<20))
			image, err := n.DiskImage(1)
			must(t, err)
			must(t, n.Close())
			file := c.file(dir, image)
			must(t, c.damage(file))
			before := fileList(t, dir)
			var damaged *hostfiles.DamagedError
			_, err = Open(dir, Options{})
			if !errors.As(err, &damaged) || damaged.File != file ||
				!strings.Contains(damaged.Problem, c.want) || damaged.Advice == "" {
				t.Errorf("got %v, want *hostfiles.DamagedError of %s about %q", err, file, c.want)
			}
			if diff := cmp.Diff(before, fileList(t, dir)); diff != "" {
				t.Errorf("the state was changed (-before +after):\n%s", diff)
			}
			if !Exists(dir) {
				t.Error("a damaged node does not count as one")
			}
		})
	}
}

// fileList returns every file with its content, except images.
func fileList(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text := ""
		if !strings.HasSuffix(path, bundle.ImageFile) {
			b, err := os.ReadFile(path)
			must(t, err)
			text = string(b)
		}
		files[path] = text
		return nil
	}))
	return files
}

func TestNodeInADirectoryWithOtherFiles(t *testing.T) {
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "run"), 0o700))
	if Exists(dir) {
		t.Error("sockets are not a node")
	}
	n := openNode(t, dir, Options{Scenario: smallScenario()})
	must(t, n.Close())
	if !Exists(dir) {
		t.Error("the node does not exist")
	}
}

// A link in the place of the lock file is not followed: what it leads to would lose its content.
func TestLinkedLockFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("only an administrator may make links there: the lock file may be one")
	}
	dir, target := t.TempDir(), filepath.Join(t.TempDir(), "target")
	must(t, os.WriteFile(target, []byte("precious"), 0o600))
	must(t, os.Symlink(target, filepath.Join(dir, "lock")))
	if n, err := Open(dir, Options{}); err == nil {
		_ = n.Close()
		t.Error("the node was opened")
	}
	if content, err := os.ReadFile(target); err != nil || string(content) != "precious" {
		t.Errorf("the link's target has %q, %v", content, err)
	}
}

func FuzzDecodeState(f *testing.F) {
	text, err := encodeState(state{Surroundings: Surroundings{Switches: scenario.Default().Switches},
		Disks: []bundle.Record{{Image: hostfiles.NewName(), Spec: bundle.Spec{SectorSize: 512}}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"format":1,"node":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := decodeState(text)
		if err != nil {
			return
		}
		again, err := encodeState(s)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decodeState(again); err != nil || !cmp.Equal(s, got) {
			t.Errorf("%+v is read again as %+v, %v", s, got, err)
		}
	})
}
