// SPDX-License-Identifier: Apache-2.0

package logfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// secret is the content of a link's target, which must not change.
const secret = "not a log"

// A link is a link made by an account that may write to the log's directory.
type link struct {
	name    string
	make    func(target, path string) error
	refused string // the error
}

var links = []link{
	{"symbolic link", os.Symlink, "it is a link, or not a regular file"},
	{"hard link", os.Link, "is refused: the file has 2 names (hard links)"},
}

// makeTarget makes a link's target, in a directory of its own.
func makeTarget(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "target")
	if err := os.WriteFile(path, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func wantUntouched(t *testing.T, target string) {
	t.Helper()
	if content, err := os.ReadFile(target); err != nil || string(content) != secret {
		t.Errorf("the link's target holds %q (%v), want %q", content, err, secret)
	}
}

// plant makes the link, or skips the test if this system cannot.
func (l link) plant(t *testing.T, target, path string) {
	t.Helper()
	err := l.make(target, path)
	if err == nil {
		_, err = os.Lstat(path) // Wine reports success without making a symbolic link
	}
	if err != nil {
		t.Skipf("require a %s: %v", l.name, err)
	}
}

func wantError(t *testing.T, err error, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("got %v, want %q", err, text)
		}
	}
}

func TestALinkIsNotOpened(t *testing.T) {
	for _, l := range links {
		t.Run(l.name, func(t *testing.T) {
			target, path := makeTarget(t), filepath.Join(t.TempDir(), "agent.log")
			l.plant(t, target, path)
			_, err := Open(path, Options{})
			wantError(t, err, path, l.refused)
			wantUntouched(t, target)
		})
	}
}

func TestDanglingLinkCreatesNothing(t *testing.T) {
	target, path := filepath.Join(t.TempDir(), "target"), filepath.Join(t.TempDir(), "agent.log")
	links[0].plant(t, target, path)
	_, err := Open(path, Options{})
	wantError(t, err, path, links[0].refused)
	if _, err := os.Lstat(target); !os.IsNotExist(err) {
		t.Errorf("the link's target: got %v, want none", err)
	}
}

// The log is opened again after a line that could not be written.
func TestALinkPlantedMeanwhileIsNotOpened(t *testing.T) {
	for _, l := range links {
		t.Run(l.name, func(t *testing.T) {
			target, f := makeTarget(t), open(t, Options{})
			write(t, f, "one")
			_ = f.file.Close() // like a failing disk
			if _, err := f.Write([]byte("two\n")); err == nil {
				t.Fatal("a write into a closed file succeeded")
			}
			if err := os.Remove(f.path); err != nil {
				t.Fatal(err)
			}
			l.plant(t, target, f.path)
			_, err := f.Write([]byte("three\n"))
			wantError(t, err, f.path, l.refused)
			wantUntouched(t, target)
			if err := os.Remove(f.path); err != nil {
				t.Fatal(err)
			}
			write(t, f, "four")
			wantLost(t, f, "", 2, "four")
			wantUntouched(t, target)
		})
	}
}

func TestCheckNames(t *testing.T) {
	for names, want := range map[uint64]string{2: links[1].refused, 0: "is refused: the file has 0 names"} {
		wantError(t, checkNames("agent.log", names), "agent.log "+want)
	}
	if err := checkNames("agent.log", 1); err != nil {
		t.Error(err)
	}
}
