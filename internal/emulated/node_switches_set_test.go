// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func answers(t *testing.T, n *Node) map[string]string {
	t.Helper()
	list := n.Switches()
	all := map[string]string{}
	for _, s := range list {
		if s.Form == "" {
			t.Errorf("%s is not described", s.Name)
		}
		all[s.Name] = s.Value
	}
	return all
}

func TestSetSwitch(t *testing.T) {
	dir := t.TempDir()
	n := openNode(t, dir, Options{Scenario: smallScenario()})
	want := map[string]string{
		"attributesVersion": "40", "createDiskClears": "false", "offlineDisksReadOnly": "false", "zeroedDiskIsMBR": "false",
		"msr": "immediate", "growPartitionRefreshes": "false", "extendOneSectorLess": "false", "automountOff": "false",
		"disksInstallLate": "false", "volumesArriveLate": "false", "lacksPrivileges": "none",
		"mappingsOutliveReboot": "true", "timing": "none", "mountPointCallsDelete": "false",
		"emptyRootNotFound": "true", "clonesNeedWritable": "true", "detachNeedsOffline": "false",
	}
	if d := cmp.Diff(want, answers(t, n)); d != "" {
		t.Fatal(d)
	}
	for name, answer := range map[string]string{
		"attributesVersion": "16", "createDiskClears": "true", "offlineDisksReadOnly": "true", "zeroedDiskIsMBR": "true",
		"msr": "delayed", "growPartitionRefreshes": "true", "extendOneSectorLess": "true", "automountOff": "true",
		"disksInstallLate": "true", "volumesArriveLate": "true", "lacksPrivileges": "SeManageVolumePrivilege",
		"mappingsOutliveReboot": "false", "timing": "windows", "mountPointCallsDelete": "true",
		"emptyRootNotFound": "false", "clonesNeedWritable": "false", "detachNeedsOffline": "true",
	} {
		must(t, n.SetSwitch(name, answer))
		want[name] = answer
	}
	must(t, n.Close())
	n = openNode(t, dir, Options{})
	if d := cmp.Diff(want, answers(t, n)); d != "" {
		t.Error(d)
	}
	for name, answer := range map[string]string{"attributesVersion": "41", "createDiskClears": "maybe", "msr": "",
		"timing": "slow"} {
		if err := n.SetSwitch(name, answer); !errors.Is(err, ErrInvalidSwitch) {
			t.Errorf("%s %q: got %v", name, answer, err)
		}
	}
	if err := n.SetSwitch("none", "true"); !errors.Is(err, ErrNoSuchSwitch) {
		t.Errorf("got %v", err)
	}
}

// A switch takes effect at once, even on how an attached disk reads.
func TestSwitchCountsAtOnce(t *testing.T) {
	n := openNode(t, t.TempDir(), Options{Scenario: smallScenario()})
	h := openDevice(t, n, `\\.\PhysicalDrive1`, win32.GENERIC_READ|win32.GENERIC_WRITE)
	if got := diskLayout(t, h).Style; got != win32.PARTITION_STYLE_RAW {
		t.Fatalf("got %d", got)
	}
	must(t, n.SetSwitch("zeroedDiskIsMBR", "true"))
	if got := diskLayout(t, h).Style; got != win32.PARTITION_STYLE_MBR {
		t.Errorf("got %d", got)
	}
}

func TestSetDiskReadOnly(t *testing.T) {
	n := openNode(t, t.TempDir(), Options{Scenario: smallScenario()})
	must(t, n.SetDiskReadOnly(1, true))
	must(t, n.SetDiskReadOnly(1, true))
	h := openDevice(t, n, `\\.\PhysicalDrive1`, win32.GENERIC_READ|win32.GENERIC_WRITE)
	_, err := h.DeviceIoControl(win32.IOCTL_DISK_IS_WRITABLE, nil, nil)
	wantCode(t, "read-only", err, win32.ERROR_WRITE_PROTECT)
	must(t, n.SetDiskReadOnly(1, false))
	control(t, h, win32.IOCTL_DISK_IS_WRITABLE, nil)
	if err := n.SetDiskReadOnly(99, true); !errors.Is(err, ErrNoSuchDisk) {
		t.Errorf("got %v", err)
	}
}
