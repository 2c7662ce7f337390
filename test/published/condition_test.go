// SPDX-License-Identifier: Apache-2.0

//go:build unix

package published

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/mounter"
)

// TestConditionOfDisk: what happens to a staged and published disk is seen at both paths.
func TestConditionOfDisk(t *testing.T) {
	t.Parallel()
	n, m := start(t)
	check(t, "staging", m.MountDisk(t.Context(), 1, staging))
	check(t, "publishing", m.Mount(staging, publish, "", nil))
	wellAt(t, m, staging, publish)

	filler := n.HostPath(staging + `\filler`)
	check(t, "making a file", os.WriteFile(filler, nil, 0o600))
	check(t, "filling the volume", os.Truncate(filler, 96<<30/10))
	illAt(t, m, mounter.ErrNearlyFull, staging, publish)
	check(t, "making room", os.Truncate(filler, 8<<30))
	wellAt(t, m, staging, publish)

	end := n.Fail(csiproxytest.Calls{Function: "DiskFreeSpace"}, "ERROR_DISK_CORRUPT")
	illAt(t, m, csiproxy.ErrDamaged, staging, publish)
	end()
	end = n.Fail(csiproxytest.Calls{Function: "DiskFreeSpace"}, "ERROR_UNRECOGNIZED_VOLUME")
	illAt(t, m, mounter.ErrNotFormatted, staging, publish)
	end()
	end = n.Fail(csiproxytest.Calls{Function: "DiskFreeSpace"}, "ERROR_NOT_READY")
	if c, err := m.Condition(t.Context(), staging); err == nil {
		t.Errorf("a volume that is not ready is %+v, want an error: it is not known", c)
	}
	end()

	n.SetDiskOnline(1, false)
	illAt(t, m, csiproxy.ErrDiskNotFound, staging, publish)
	n.SetDiskOnline(1, true)
	wellAt(t, m, staging, publish)
	n.DetachDisk(1)
	illAt(t, m, csiproxy.ErrDiskNotFound, staging, publish)
	check(t, "unmounting", m.Unmount(staging))
	illAt(t, m, csiproxy.ErrNotMounted, publish)
	illAt(t, m, csiproxy.ErrNotMounted, `C:\var\lib\kubelet\plugins`)
	if _, err := m.Condition(t.Context(), staging); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing path: %v, want fs.ErrNotExist", err)
	}
}

// TestConditionOfShare: a share is as well as its server and its mapping are.
func TestConditionOfShare(t *testing.T) {
	t.Parallel()
	n, m := start(t)
	good := mounter.Credentials{User: "csi", Password: "csi-password"}
	check(t, "mounting", m.MountShare(t.Context(), `\\fs.emulated\share`, staging, good))
	check(t, "publishing", m.Mount(staging, publish, "", nil))
	wellAt(t, m, staging, publish)
	for _, c := range []struct {
		what         string
		breaks, heal func()
	}{
		{"the server is down", func() { n.StopSMBServer("fs.emulated") }, func() { n.StartSMBServer("fs.emulated") }},
		{"the share is gone", func() { n.RemoveSMBShare("fs.emulated", "share") },
			func() { n.AddSMBShare("fs.emulated", "share") }},
		{"the password is another", func() { n.SetSMBPassword("csi", "rotated") },
			func() { n.SetSMBPassword("csi", "csi-password") }},
		{"the node rebooted", n.Reboot,
			func() { check(t, "mapping", m.MountShare(t.Context(), `\\fs.emulated\share`, staging, good)) }},
		{"the mapping is gone", func() { check(t, "unmapping", m.UnmapShare(t.Context(), `\\fs.emulated\share`)) }, nil},
	} {
		c.breaks()
		t.Log(c.what)
		illAt(t, m, csiproxy.ErrNotMounted, staging, publish)
		if c.heal != nil {
			c.heal()
			wellAt(t, m, staging, publish)
		}
	}
}

func wellAt(t *testing.T, m *mounter.Mounter, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if c, err := m.Condition(t.Context(), path); c.Abnormal || c.Cause != nil || c.Message == "" || err != nil {
			t.Errorf("the condition at %s is %+v, %v, want normal and a message", path, c, err)
		}
	}
}

func illAt(t *testing.T, m *mounter.Mounter, cause error, paths ...string) {
	t.Helper()
	for _, path := range paths {
		c, err := m.Condition(t.Context(), path)
		named := strings.Contains(strings.ToLower(c.Message), strings.ToLower(strings.ReplaceAll(path, "/", `\`)))
		if !c.Abnormal || !errors.Is(c.Cause, cause) || !named && !errors.Is(c.Cause, csiproxy.ErrDamaged) || err != nil {
			t.Errorf("the condition at %s is %+v, %v, want abnormal because of: %v", path, c, err, cause)
		}
	}
}
