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
	"github.com/kubernetes-csi/csi-proxy/internal/testing/machine"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// Makers that Wine has all of, too, are tried there; what they made is gone when the test is over.

// onlyWineOrThisMachine skips a test that would change a Windows machine whose owner has not allowed it.
func onlyWineOrThisMachine(t *testing.T) {
	t.Helper()
	if !testnode.OnWine() {
		onThisMachine(t)
	}
}

// A service and one that needs it start and stop, and are gone then. The kernel's rights for it are just enough.
func TestServices(t *testing.T) {
	onlyWineOrThisMachine(t)
	k := nativeKernel()
	var name, dependent string
	t.Run("life", func(t *testing.T) {
		q := &inquiry{TB: t, Subject: Subject{Kernel: k, Timeout: time.Minute}}
		name, dependent = NewServices(t)
		q.check(k.StartService(dependent))
		q.awaitService(dependent, win32.SERVICE_RUNNING)
		if testnode.OnWine() { // Wine starts only what it is told to
			q.check(k.StartService(name))
		}
		q.awaitService(name, win32.SERVICE_RUNNING)
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
		q.awaitService(dependent, win32.SERVICE_STOPPED)
	})
	for _, name := range []string{name, dependent} {
		if _, err := k.QueryService(name); !errors.Is(err, win32.ERROR_SERVICE_DOES_NOT_EXIST) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A command runs as SYSTEM, and its failure is known.
func TestAsSystem(t *testing.T) {
	onlyWineOrThisMachine(t)
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

// A setting is changed if that is allowed, and gets what it had: when its test ends, or, after a killed one, when what
// is written down is restored.
func TestSettingsAreRestored(t *testing.T) {
	onlyWineOrThisMachine(t)
	path := `SOFTWARE\` + machine.RandomName()
	key, _, err := registry.CreateKey(registry.LOCAL_MACHINE, path, registry.ALL_ACCESS)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = key.Close(), registry.DeleteKey(registry.LOCAL_MACHINE, path) }()
	if err := key.SetDWordValue("there", 7); err != nil {
		t.Fatal(err)
	}
	are := func(there, missing string) {
		t.Helper()
		for name, want := range map[string]string{"there": there, "missing": missing} {
			if now, err := (registryNumber{key: path, name: name}).read(); err != nil || now != want {
				t.Errorf("%s is %q, %v, want %q", name, now, err, want)
			}
		}
	}
	set := func(t testing.TB, number uint32) error {
		return errors.Join(registryNumber{path, "there", number}.set(t), registryNumber{path, "missing", number}.set(t))
	}
	t.Setenv(SettingsVariable, "")
	var refused Unavailable
	if err := set(t, 1); !errors.As(err, &refused) {
		t.Errorf("without permission: %v", err)
	}
	are("7", "")
	t.Setenv(SettingsVariable, "1")
	t.Run("changed twice", func(t *testing.T) {
		for number, want := range map[uint32]string{1: "1", 2: "2"} {
			if err := set(t, number); err != nil {
				t.Fatal(err)
			}
			are(want, want)
		}
	})
	are("7", "")
	if err := set(&unended{TB: t}, 1); err != nil {
		t.Fatal(err)
	}
	are("1", "1")
	for range 2 { // the second time nothing is written down
		if err := restoreAll(); err != nil {
			t.Error(err)
		}
		are("7", "")
	}
}

// unended is a test that is killed: nothing is cleaned up.
type unended struct{ testing.TB }

func (unended) Cleanup(func()) {}

// The serial number is asked of WMI and equals the one that the agent reads.
func TestBIOSSerial(t *testing.T) {
	theirs, err := BIOSSerial()
	if err != nil {
		t.Fatal(err)
	}
	ours, err := smbiosSerial(nativeKernel())
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
	if ours != theirs {
		t.Errorf("the agent reads %q, Win32_BIOS has %q", ours, theirs)
	}
}
