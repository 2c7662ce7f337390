// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/windows/registry"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// Makers that Wine has all of, too, are tried there; what they made is gone when the test is over.

// onlyWineOrThisMachine skips a test that would change a Windows machine whose owner has not allowed it.
func onlyWineOrThisMachine(t *testing.T) {
	t.Helper()
	if !testnode.OnWine() {
		onThisMachine(t)
	}
}

// ledgerOf returns the ledger of a test's makers, that of the environment if there is one, and checks at the test's end
// that it has the entries of its beginning. It never begins empty: the kit has entries of its own.
func ledgerOf(t *testing.T) *Ledger {
	t.Helper()
	made := os.Getenv(LedgerVariable) == ""
	if made {
		t.Setenv(LedgerVariable, filepath.Join(t.TempDir(), "ledger"))
	}
	l, err := OpenLedger(os.Getenv(LedgerVariable))
	if err == nil && made {
		_, err = l.Note(Entry{Kind: KindDirectory, Name: filepath.Join(t.TempDir(), "of-others")})
	}
	if err != nil {
		t.Fatal(err)
	}
	before := l.Remaining()
	t.Cleanup(func() {
		now := l.Remaining()
		if left := subtract(now, before); len(left) > 0 {
			t.Errorf("%v is left", left)
		}
		if gone := subtract(before, now); len(gone) > 0 {
			t.Errorf("%v is gone, which the test did not make", gone)
		}
	})
	return l
}

// A service and one that needs it start and stop, and are gone then. The kernel's rights for it are just enough.
func TestServices(t *testing.T) {
	onlyWineOrThisMachine(t)
	l, k := ledgerOf(t), nativeKernel()
	before := l.Remaining()
	subject := Subject{Kernel: k, Timeout: time.Minute}
	is := func(name string, state uint32) {
		t.Helper()
		reached, err := subject.pollUntil(func() (bool, error) { s, err := k.QueryService(name); return s.State == state, err })
		if err != nil || !reached {
			t.Fatalf("the service does not get to state %d: %v", state, err)
		}
	}
	var name, dependent string
	t.Run("life", func(t *testing.T) {
		var err error
		if name, dependent, err = NewServices(t); err != nil {
			t.Fatal(err)
		}
		same(t, names(subtract(l.Remaining(), before)), []string{name, dependent})
		if err := k.StartService(dependent); err != nil {
			t.Fatal(err)
		}
		is(dependent, win32.SERVICE_RUNNING)
		if testnode.OnWine() { // Wine starts only what it is told to
			if err := k.StartService(name); err != nil {
				t.Fatal(err)
			}
		}
		is(name, win32.SERVICE_RUNNING)
		names, err := k.DependentServices(name)
		if err != nil || slices.Contains(names, dependent) == testnode.OnWine() { // which knows of no dependents
			t.Errorf("the dependents are %q, %v", names, err)
		}
		if err := k.StopService(name); errors.Is(err, win32.ERROR_DEPENDENT_SERVICES_RUNNING) == testnode.OnWine() {
			t.Errorf("stopping what another one needs: %v", err)
		}
		if err := k.StopService(dependent); err != nil {
			t.Error(err)
		}
		is(dependent, win32.SERVICE_STOPPED)
	})
	for _, name := range []string{name, dependent} {
		if _, err := k.QueryService(name); !errors.Is(err, win32.ERROR_SERVICE_DOES_NOT_EXIST) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The next process removes what a killed one left, from the entries alone.
func TestLeftServicesAreRemoved(t *testing.T) {
	onlyWineOrThisMachine(t)
	l, k := ledgerOf(t), nativeKernel()
	before := l.Remaining()
	name, _, err := NewServices(t)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.StartService(name); err != nil {
		t.Fatal(err)
	}
	other := subtract(l.Remaining(), before)[0]
	other.ID, other.Mark = "", `C:\Windows\other.exe`
	if err := l.remove(t.Context(), other); err == nil {
		t.Error("a service of another program was removed")
	}
	if _, err := k.QueryService(name); err != nil {
		t.Fatal(err)
	}
	if left, err := l.Clean(t.Context(), before...); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if _, err := k.QueryService(name); !errors.Is(err, win32.ERROR_SERVICE_DOES_NOT_EXIST) {
		t.Error(err)
	}
}

// A command runs as SYSTEM, and its failure is known.
func TestAsSystem(t *testing.T) {
	onlyWineOrThisMachine(t)
	ledgerOf(t)
	dir := t.TempDir()
	if err := AsSystem(t, "cmd.exe", "/D", "/C", "mkdir", filepath.Join(dir, "made")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "made")); err != nil {
		t.Error(err)
	}
	if err := AsSystem(t, "cmd.exe", "/D", "/C", "exit", "3"); err == nil ||
		!strings.Contains(err.Error(), "exit code 3") {
		t.Errorf("got %v", err)
	}
}

// A value in the registry gets what it had, unless another program has changed it.
func TestRegistryValuesAreRestored(t *testing.T) {
	onlyWineOrThisMachine(t)
	path := `SOFTWARE\` + randomName()
	key, _, err := registry.CreateKey(registry.LOCAL_MACHINE, path, registry.ALL_ACCESS)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = key.Close(), registry.DeleteKey(registry.LOCAL_MACHINE, path) }()
	ledgerOf(t)
	if err := key.SetDWordValue("there", 7); err != nil {
		t.Fatal(err)
	}
	t.Run("set", func(t *testing.T) {
		for _, name := range []string{"there", "missing"} {
			r := registryNumber{path, name, 1}
			if err := r.set(t); err != nil {
				t.Fatal(err)
			}
			if now, err := r.read(); err != nil || now != "1" {
				t.Errorf("%s is %q, %v", name, now, err)
			}
		}
	})
	for name, want := range map[string]string{"there": "7", "missing": ""} {
		if now, err := (registryNumber{path, name, 1}).read(); err != nil || now != want {
			t.Errorf("%s is %q, %v, want %q", name, now, err, want)
		}
	}
	changed := Entry{Kind: KindRegistryValue, Name: path + ":there", Mark: "1", Before: "5"}
	var reason NotOurs
	if err := restoreRegistryValue(t.Context(), changed); !errors.As(err, &reason) {
		t.Errorf("a value that another program has set: %v", err)
	}
}

// The serial number is asked of WMI and equals the one that the agent reads.
func TestBIOSSerial(t *testing.T) {
	theirs, err := BIOSSerial()
	if err != nil {
		t.Fatal(err)
	}
	answer, err := askBIOS(t, Subject{Kernel: nativeKernel()})
	if err != nil {
		t.Fatal(err)
	}
	if testnode.OnWine() {
		if theirs != "Serial number" {
			t.Errorf("Wine's Win32_BIOS has the serial number %q now; it used to have a text of its own instead of the table's",
				theirs)
		}
		return
	}
	if ours := answer.(map[string]string)["SMBIOS"]; ours != theirs {
		t.Errorf("the agent reads %q, Win32_BIOS has %q", ours, theirs)
	}
}
