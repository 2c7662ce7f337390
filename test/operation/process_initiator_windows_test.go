// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/test/testnode"
)

// An initiator is the fake iscsidsc.dll of test/windows/fakes/iscsidsc, in the place where Windows has its own. Its README
// describes the files and the lines of control.txt.
type initiator struct{ t *testing.T }

const (
	initiatorFolder = `C:\iscsidsc-fake`
	initiatorDLL    = `C:\windows\system32\iscsidsc.dll`
)

// fakeInitiator installs the fake until the end of the test, for agents that start after it. The test fails if a call broke a rule
// of its function's page.
func fakeInitiator(t *testing.T) *initiator {
	t.Helper()
	if !testnode.OnWine() {
		t.Skip("require Wine: Windows has an initiator of its own")
	}
	dll, err := os.ReadFile(filepath.Join(os.Getenv("CSI_PROXY_BIN"), "fake-iscsidsc.dll"))
	if err == nil {
		err = os.Mkdir(initiatorFolder, 0o700)
	}
	if err == nil {
		err = os.WriteFile(initiatorDLL, dll, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	i := &initiator{t: t}
	t.Cleanup(func() {
		if text := i.read("violations.txt"); text != "" {
			t.Errorf("calls broke the rules of their pages:\n%s", text)
		}
		if t.Failed() {
			t.Logf("the initiator's calls:\n%s", i.read("calls.txt"))
		}
		for _, path := range []string{initiatorFolder, initiatorDLL} {
			if err := os.RemoveAll(path); err != nil {
				t.Error(err)
			}
		}
	})
	return i
}

func (i *initiator) read(file string) string {
	text, err := os.ReadFile(filepath.Join(initiatorFolder, file))
	if err != nil && !os.IsNotExist(err) {
		i.t.Error(err)
	}
	return string(text)
}

// world sets the lines of control.txt. No call may be running.
func (i *initiator) world(lines ...string) {
	i.t.Helper()
	if err := os.WriteFile(filepath.Join(initiatorFolder, "control.txt"), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		i.t.Fatal(err)
	}
}

func (i *initiator) forgetCalls() {
	i.t.Helper()
	if err := os.Remove(filepath.Join(initiatorFolder, "calls.txt")); err != nil && !os.IsNotExist(err) {
		i.t.Fatal(err)
	}
}

// calls returns the lines that were logged and begin with a text: a function, and what of its arguments matters.
func (i *initiator) calls(function string) (lines []string) {
	i.t.Helper()
	for _, line := range strings.Split(i.read("calls.txt"), "\r\n") {
		if strings.HasPrefix(line, function+" ") {
			lines = append(lines, line)
		}
	}
	return lines
}
