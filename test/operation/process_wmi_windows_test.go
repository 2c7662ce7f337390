// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows/registry"

	"github.com/kubernetes-csi/csi-proxy/test/testnode"
)

// A wmiFake is the fake WMI of test/windows/fakes/wmi, in the place of Wine's. Its README describes the files and the lines
// of wmi.control.
type wmiFake struct{ t *testing.T }

const wmiFolder = `C:\wmi-fake`

// wmiClasses are the classes that the fake takes over, with the threading models that they have on Windows.
var wmiClasses = map[string]string{
	"{4590F811-1D3A-11D0-891F-00AA004B2E24}": "Both",      // WbemLocator
	"{76A64158-CB41-11D1-8B02-00600806D9B6}": "Apartment", // WbemScripting.SWbemLocator
}

// fakeWMI installs the fake until the end of the test, for agents that start after it. The test fails if a caller did what the
// documentation forbids, unless the test expected it.
func fakeWMI(t *testing.T) *wmiFake {
	t.Helper()
	if !testnode.OnWine() {
		t.Skip("require Wine: Windows has its own WMI")
	}
	installWMI(t)
	w := &wmiFake{t: t}
	t.Cleanup(func() {
		w.wantViolations()
		if t.Failed() {
			t.Logf("the calls of WMI:\n%s", w.read("wmi.calls"))
		}
		for _, file := range []string{"wmi.control", "wmi.state", "wmi.calls", "wmi.cache"} {
			if err := os.RemoveAll(filepath.Join(wmiFolder, file)); err != nil {
				t.Error(err)
			}
		}
	})
	for class, model := range wmiClasses {
		t.Cleanup(register(t, `Software\Classes\CLSID\`+class+`\InprocServer32`, model))
	}
	return w
}

// installWMI copies the DLL into its folder, where it stays: a process that loaded it keeps it.
func installWMI(t *testing.T) {
	t.Helper()
	path := filepath.Join(wmiFolder, "fake-wmi.dll")
	if _, err := os.Stat(path); err == nil {
		return
	}
	dll, err := os.ReadFile(filepath.Join(os.Getenv("CSI_PROXY_BIN"), "fake-wmi.dll"))
	if err == nil {
		err = os.MkdirAll(wmiFolder, 0o700)
	}
	if err == nil {
		err = os.WriteFile(path, dll, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// register makes the fake the server of a class and returns how to undo that.
func register(t *testing.T, key, model string) (undo func()) {
	t.Helper()
	k, _, err := registry.CreateKey(registry.LOCAL_MACHINE, key, registry.QUERY_VALUE|registry.SET_VALUE)
	if err != nil {
		t.Fatal(err)
	}
	old := map[string]string{}
	for name, value := range map[string]string{"": filepath.Join(wmiFolder, "fake-wmi.dll"), "ThreadingModel": model} {
		if old[name], _, err = k.GetStringValue(name); err == nil {
			err = k.SetStringValue(name, value)
		}
		if err != nil {
			t.Fatal(key, name, err)
		}
	}
	return func() {
		for name, value := range old {
			err = errors.Join(err, k.SetStringValue(name, value))
		}
		if err := errors.Join(err, k.Close()); err != nil {
			t.Error(err)
		}
	}
}

func (w *wmiFake) read(file string) string {
	text, err := os.ReadFile(filepath.Join(wmiFolder, file))
	if err != nil && !os.IsNotExist(err) {
		w.t.Error(err)
	}
	return string(text)
}

func (w *wmiFake) write(file string, lines ...string) {
	w.t.Helper()
	if err := os.WriteFile(filepath.Join(wmiFolder, file), []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// take returns the lines of a log since the last time.
func (w *wmiFake) take(file string) []string {
	w.t.Helper()
	text := strings.TrimSpace(w.read(file))
	if err := os.RemoveAll(filepath.Join(wmiFolder, file)); err != nil {
		w.t.Error(err)
	}
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// calls returns how many calls since the last time begin with a text.
func (w *wmiFake) calls(text string) (n int) {
	w.t.Helper()
	for _, line := range w.take("wmi.calls") {
		if strings.HasPrefix(line, text) {
			n++
		}
	}
	return n
}

// wantViolations fails the test unless there is one violation with each of these texts since the last time, and no other.
func (w *wmiFake) wantViolations(texts ...string) {
	w.t.Helper()
	got := w.take("wmi.violations")
	for i, line := range got {
		if i >= len(texts) || !strings.Contains(line, texts[i]) {
			w.t.Errorf("the caller of WMI did what its documentation forbids: %s", line)
		}
	}
	if len(got) < len(texts) {
		w.t.Errorf("violations: %q, want %q", got, texts)
	}
}
