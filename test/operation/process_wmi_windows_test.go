// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/windows/registry"

	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// A wmiFake is the fake WMI of test/windows/fakes/wmi, in the place of Wine's. test/windows/fakes/README.md
// describes the files and the lines of control.txt.
type wmiFake struct{ fakeFolder }

const wmiFolder = `C:\wmi-fake`

// wmiClasses are the classes that the fake takes over, with the threading models that they have on Windows.
var wmiClasses = map[string]string{
	"{4590F811-1D3A-11D0-891F-00AA004B2E24}": "Both",      // WbemLocator
	"{76A64158-CB41-11D1-8B02-00600806D9B6}": "Apartment", // WbemScripting.SWbemLocator
}

func wmiOf(t *testing.T) *wmiFake { return &wmiFake{fakeFolder{t, wmiFolder}} }

// fakeWMI installs the fake until the end of the test, for agents that start after it. The test fails if a caller did
// what the documentation forbids, unless the test expected it.
func fakeWMI(t *testing.T) *wmiFake {
	t.Helper()
	requireWine(t, "its own WMI")
	installWMI(t)
	w := wmiOf(t)
	t.Cleanup(func() {
		w.end()
		for _, file := range []string{"control.txt", "state.txt", "calls.txt", "cache.txt"} {
			w.remove(file)
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
	err := os.MkdirAll(wmiFolder, 0o700)
	if err == nil {
		err = os.WriteFile(path, fakeDLL(t, "fake-wmi.dll"), 0o600)
	}
	caller.OK(t, err)
}

// register makes the fake the server of a class and returns how to undo that.
func register(t *testing.T, key, model string) (undo func()) {
	t.Helper()
	k, _, err := registry.CreateKey(registry.LOCAL_MACHINE, key, registry.QUERY_VALUE|registry.SET_VALUE)
	caller.OK(t, err)
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
