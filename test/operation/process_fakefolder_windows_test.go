// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// A fakeFolder is where a fake of test/windows/fakes finds its orders and writes down what it was asked.
type fakeFolder struct {
	t   *testing.T
	dir string
}

// requireWine skips the test on Windows, which has the real thing.
func requireWine(t *testing.T, thing string) {
	t.Helper()
	if !testnode.OnWine() {
		t.Skip("require Wine: Windows has " + thing)
	}
}

// fakeDLL returns the DLL of a fake, which hack/test-wine.sh builds beside the commands.
func fakeDLL(t *testing.T, name string) []byte {
	t.Helper()
	dll, err := os.ReadFile(filepath.Join(os.Getenv("CSI_PROXY_BIN"), name))
	caller.OK(t, err)
	return dll
}

// read returns a file, which is empty if it is not there.
func (f fakeFolder) read(name string) string {
	f.t.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, name))
	if err != nil && !os.IsNotExist(err) {
		f.t.Error(err)
	}
	return string(text)
}

// write makes a file of lines. No call may be running.
func (f fakeFolder) write(name string, lines ...string) {
	f.t.Helper()
	caller.OK(f.t, os.WriteFile(filepath.Join(f.dir, name), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
}

// world sets the lines of control.txt. No call may be running.
func (f fakeFolder) world(lines ...string) {
	f.t.Helper()
	f.write("control.txt", lines...)
}

// calls returns the lines of the calls that begin with a text.
func (f fakeFolder) calls(start string) []string {
	f.t.Helper()
	return f.lines("calls.txt", start)
}

// takeCalls is calls since the last time.
func (f fakeFolder) takeCalls(start string) []string {
	f.t.Helper()
	found := f.calls(start)
	f.remove("calls.txt")
	return found
}

// wantViolations fails the test unless there is one violation with each of these texts since the last time, and no
// other: a call that broke a rule of its page.
func (f fakeFolder) wantViolations(texts ...string) {
	f.t.Helper()
	got := f.lines("violations.txt", "")
	f.remove("violations.txt")
	for i, line := range got {
		if i >= len(texts) || !strings.Contains(line, texts[i]) {
			f.t.Errorf("a call broke a rule of its page: %s", line)
		}
	}
	if len(got) < len(texts) {
		f.t.Errorf("violations: %q, want %q", got, texts)
	}
}

// end is what a test ends with: no violation, and the calls if it failed.
func (f fakeFolder) end() {
	f.t.Helper()
	f.wantViolations()
	if f.t.Failed() {
		f.t.Logf("the calls in %s:\n%s", f.dir, f.read("calls.txt"))
	}
}

// remove removes a file, if it is there.
func (f fakeFolder) remove(name string) {
	f.t.Helper()
	if err := os.RemoveAll(filepath.Join(f.dir, name)); err != nil {
		f.t.Error(err)
	}
}

// lines returns the lines of a file that begin with a text.
func (f fakeFolder) lines(name, start string) (found []string) {
	f.t.Helper()
	for line := range strings.Lines(f.read(name)) {
		if line = strings.TrimRight(line, "\r\n"); strings.HasPrefix(line, start) {
			found = append(found, line)
		}
	}
	return found
}
