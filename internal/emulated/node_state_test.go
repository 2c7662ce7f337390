// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
)

func TestSecondOpenIsRefused(t *testing.T) {
	if dir := os.Getenv("EMULATED_LOCK_DIR"); dir != "" { // the other process
		_, err := Open(dir, Options{})
		var inUse *hostfiles.InUseError
		if !errors.As(err, &inUse) || inUse.PID != os.Getppid() {
			t.Errorf("got %v, want *InUseError with process %d", err, os.Getppid())
		}
		return
	}
	dir := t.TempDir()
	n := openNode(t, dir, Options{Scenario: smallScenario()})
	var inUse *hostfiles.InUseError
	if _, err := Open(dir, Options{}); !errors.As(err, &inUse) || inUse.PID != os.Getpid() {
		t.Errorf("got %v, want *InUseError with this process", err)
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
	replace := func(old, by string) func(string) string {
		return func(s string) string { return strings.Replace(s, old, by, 1) }
	}
	for name, c := range map[string]struct {
		file string // below the state directory
		edit func(string) string
		want string
	}{
		"edited":    {stateFile, replace(`"sectorSize": 512`, `"sectorSize": 513`), "sectors of 513 bytes"},
		"cut off":   {stateFile, func(s string) string { return s[:len(s)/2] }, "JSON"},
		"empty":     {stateFile, func(string) string { return "" }, "JSON"},
		"newer":     {stateFile, replace(`"format": 1`, `"format": 2`), "format 2"},
		"no format": {stateFile, func(string) string { return "{}" }, "format 0"},
		"missing":   {stateFile, nil, "missing"},
		"no image":  {"image", nil, hostSaysNotFound(t)},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			n := openNode(t, dir, Options{Scenario: smallScenario()})
			image, err := n.DiskImage(1)
			must(t, err)
			must(t, n.Close())
			file := filepath.Join(dir, c.file)
			if c.file == "image" {
				file = image
			}
			if c.edit == nil {
				must(t, os.Remove(file))
			} else {
				text, err := os.ReadFile(file)
				must(t, err)
				must(t, os.WriteFile(file, []byte(c.edit(string(text))), 0o600))
			}
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

// hostSaysNotFound returns the host's error text for a missing file, which differs from system to system.
func hostSaysNotFound(t *testing.T) string {
	t.Helper()
	_, err := os.Stat(filepath.Join(t.TempDir(), "missing"))
	var failed *fs.PathError
	if !errors.As(err, &failed) || !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return failed.Err.Error()
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
	text, err := encodeState(state{Switches: scenario.DefaultSwitches(),
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
