// SPDX-License-Identifier: Apache-2.0

package logfile

import (
	"os/exec"
	"path/filepath"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/fileowner"
)

// Anybody may make a junction, unlike a symbolic link.
func TestAJunctionIsNoLogAndIsReported(t *testing.T) {
	target, path := t.TempDir(), filepath.Join(t.TempDir(), "agent.log")
	if out, err := exec.CommandContext(t.Context(), "cmd.exe", "/c", "mklink", "/J", path,
		target).CombinedOutput(); err != nil {
		t.Skipf("require junctions: %v: %s", err, out)
	}
	_, err := Open(path, Options{})
	wantError(t, err, path, links[0].refused)
	if got, err := fileowner.IsLink(path); err != nil || !got {
		t.Errorf("got %v, %v, want a link", got, err)
	}
}

// The handle can only append, by the rights that CreateFileW is asked for.
func TestTheHandleAppendsOnly(t *testing.T) {
	f := open(t, Options{})
	write(t, f, "one")
	conn, err := f.file.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var written uint32
	var failed error
	if err := conn.Control(func(handle uintptr) {
		failed = windows.WriteFile(windows.Handle(handle), []byte("two\n"), &written, &windows.Overlapped{})
	}); err != nil {
		t.Fatal(err)
	}
	if failed != nil {
		return // refused, which is as good
	}
	if got := contents(t, f); len(got) != 1 || got[0] != "one\ntwo\n" {
		t.Errorf("got %q: what was written at offset 0 is not at the end", got)
	}
}
