// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/reparse"
)

// A privilege has no effect until the process enables it, and one that the process does not have cannot be enabled.
func TestPrivileges(t *testing.T) {
	for _, test := range []struct {
		privilege string
		use       func(*testing.T, *Node) error
		without   win32.Errno
	}{
		{scenario.CreateSymbolicLink, func(t *testing.T, n *Node) error {
			t.Helper()
			h := openFile(t, n, mkdir(t, n, `C:\link`),
				how(win32.FILE_WRITE_ATTRIBUTES, win32.FILE_OPEN, win32.FILE_OPEN_REPARSE_POINT))
			_, err := h.DeviceIoControl(win32.FSCTL_SET_REPARSE_POINT, reparse.Symlink(`C:\Windows`).Bytes(), nil)
			return err
		}, win32.ERROR_PRIVILEGE_NOT_HELD},
		{scenario.LoadDriver, func(_ *testing.T, n *Node) error { return n.ReenumerateDevices() }, win32.ERROR_ACCESS_DENIED},
		{scenario.ManageVolume, func(t *testing.T, n *Node) error {
			t.Helper()
			system := n.disks.list()[0].volumes
			return ioctl(n, strings.TrimSuffix(system[len(system)-1].name(), `\`),
				win32.FSCTL_EXTEND_VOLUME, win32.ExtendVolume(1))
		}, win32.ERROR_ACCESS_DENIED},
	} {
		t.Run(test.privilege, func(t *testing.T) {
			n := newNode(t, nil)
			must(t, n.Reboot()) // a new process has none enabled
			wantCode(t, "not enabled", test.use(t, n), test.without)
			must(t, n.EnablePrivilege(test.privilege))
			if err := test.use(t, n); errors.Is(err, test.without) {
				t.Errorf("enabled: %v", err)
			}
			must(t, n.SetSwitch("lacksPrivileges",
				"SeLoadDriverPrivilege,SeCreateSymbolicLinkPrivilege,SeManageVolumePrivilege"))
			wantCode(t, "not there", n.EnablePrivilege(test.privilege), win32.ERROR_NOT_ALL_ASSIGNED)
			wantCode(t, "used without", test.use(t, n), test.without)
		})
	}
	n := newNode(t, nil)
	wantCode(t, "unknown", n.EnablePrivilege("SeFlyPrivilege"), win32.ERROR_NO_SUCH_PRIVILEGE)
	for _, answer := range []string{"SeFlyPrivilege", "none,SeLoadDriverPrivilege",
		"SeLoadDriverPrivilege, SeManageVolumePrivilege"} {
		if err := n.SetSwitch("lacksPrivileges", answer); err == nil {
			t.Errorf("the answer %q is accepted", answer)
		}
	}
}

// A junction is a reparse point too, and needs no privilege.
func TestJunctionsNeedNoPrivilege(t *testing.T) {
	n := newNode(t, func(s *scenario.Switches) { s.LacksPrivileges = scenario.CreateSymbolicLink })
	mkdir(t, n, `C:\junction`)
	link(t, n, `C:\junction`, reparse.Junction(`C:\Windows`))
}

// TestMountManagerIsNotified: what is removed without the mount manager stays in its list until it is told, or until a
// reboot.
func TestMountManagerIsNotified(t *testing.T) {
	n := newNode(t, nil)
	v := formatted(t, n, oneDrive)
	paths := func(want int) {
		t.Helper()
		if paths, err := n.VolumePathNames(v); err != nil || len(paths) != want {
			t.Errorf("the volume's paths are %q, %v, want %d", paths, err, want)
		}
	}
	path := mkdir(t, n, `C:\m`)
	makeGhost := func() {
		must(t, n.SetVolumeMountPoint(`C:\m\`, v))
		h := openFile(t, n, path, how(win32.FILE_WRITE_ATTRIBUTES, win32.FILE_OPEN, win32.FILE_OPEN_REPARSE_POINT))
		control(t, h, win32.FSCTL_DELETE_REPARSE_POINT, win32.DeleteReparsePoint(win32.IO_REPARSE_TAG_MOUNT_POINT))
		paths(1)
	}
	makeGhost()

	gone := win32.VolumeMountPoint{Path: `\DosDevices\C:\m`, Volume: `\??\` + strings.Trim(v, `\?`)}
	tell := func(access uint32, in []byte) error {
		manager, err := n.OpenDevice(kernel.MountManager, access)
		must(t, err)
		defer func() { must(t, manager.Close()) }()
		_, err = manager.DeviceIoControl(win32.IOCTL_MOUNTMGR_VOLUME_MOUNT_POINT_DELETED, in, nil)
		return err
	}
	wantCode(t, "without a right", tell(0, gone.Bytes()), win32.ERROR_ACCESS_DENIED)
	wantCode(t, "nothing", tell(readWrite, nil), win32.ERROR_INVALID_PARAMETER)
	wantCode(t, "no path of the object manager", tell(readWrite, win32.VolumeMountPoint{Path: `C:\m`}.Bytes()),
		win32.ERROR_INVALID_PARAMETER)
	paths(1)
	must(t, tell(readWrite, gone.Bytes()))
	paths(0)
	makeGhost()
	must(t, n.Reboot())
	paths(0)
}
