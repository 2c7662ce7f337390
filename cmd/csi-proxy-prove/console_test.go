// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/proof"
)

// A stopped window takes nothing until it is let go.
type stopped struct {
	strings.Builder
	released chan struct{}
}

func (s *stopped) Write(text []byte) (int, error) {
	<-s.released
	return s.Builder.Write(text)
}

func TestStalledClientBlocksNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		window := &stopped{released: make(chan struct{})}
		c, want := newConsole(window), ""
		for i := range 100 {
			want += fmt.Sprintln(i)
			if _, err := fmt.Fprintln(c, i); err != nil {
				t.Fatal(err)
			}
		}
		begun := time.Now()
		c.end()
		if took := time.Since(begun); took != 10*time.Second {
			t.Errorf("the end waited %v", took)
		}
		close(window.released)
		<-c.written
		if window.String() != want {
			t.Errorf("the window has %q", window.String())
		}
	})
	var out strings.Builder
	c := newConsole(&out)
	_, _ = fmt.Fprint(c, "all of it")
	if c.end(); out.String() != "all of it" {
		t.Errorf("%q is written", out.String())
	}
}

func TestRefusalTexts(t *testing.T) {
	for code, want := range map[syscall.Errno]string{225: "took it for a virus", 1260: "group policy",
		4551: "Smart App Control"} {
		err := inWords(&os.PathError{Op: "fork/exec", Path: "csi-proxy.exe", Err: code})
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%d is %v", code, err)
		}
	}
	if err := inWords(syscall.Errno(2)); err != syscall.Errno(2) { //nolint:errorlint // the same one
		t.Errorf("another code is %v", err)
	}
}

// Without a name the report is written beside the kit, if that directory is writable.
func TestReportDirectory(t *testing.T) {
	dir := t.TempDir()
	if got := reportDirectory(filepath.Join(dir, "kit")); got != dir {
		t.Errorf("beside the kit it is %s", got)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("%v is left there, %v", entries, err)
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	if got := reportDirectory(filepath.Join(dir, "gone", "kit")); got != home {
		t.Errorf("otherwise it is %s, want %s", got, home)
	}
}

// A machine that cannot make virtual disks skips the parts that need them.
func TestNoDisks(t *testing.T) {
	k := &kit{}
	m := machine{freeBytes: minFree, noDisks: "a policy denies it"}
	m.System = proof.Windows
	needs := part{systems: []string{proof.Windows}, needs: []need{freeDisk}}
	if why := k.unmetNeed(needs, m); why != m.noDisks {
		t.Errorf("it lacks %q", why)
	}
	if m.noDisks = ""; k.unmetNeed(needs, m) != "" {
		t.Errorf("it lacks %q", k.unmetNeed(needs, m))
	}
}
