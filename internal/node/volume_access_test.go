// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// An access list gets entries once, SYSTEM and Administrators keep full control, and a volume whose root holds anything
// is left alone.
func TestAddAccess(t *testing.T) {
	ctx, sets, fail := t.Context(), 0, false
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	n, k := smbNode(t, func(_ context.Context, call kernel.Call, do func() error) error {
		if call.Function != "SetAccessList" {
			return do()
		}
		sets++
		if fail {
			return &kernel.Error{Function: "SetKernelObjectSecurity", Code: win32.ERROR_ACCESS_DENIED}
		}
		return do()
	})
	number, err := k.AttachDisk(emulated.DiskSpec{SizeBytes: 1 << 30, Formatted: true, LUNAuto: true})
	check(err)
	ids, err := n.Volumes.ListVolumesOnDisk(ctx, number, 0)
	check(err)
	const user, other = "S-1-5-93-2-2", "S-1-1-0"
	entry := func(sid win32.SID) []win32.AccessEntry {
		return []win32.AccessEntry{win32.NewAccessEntry(sid, AccessModify)}
	}
	fail = true
	var e *errdefs.Error
	if _, err := n.Volumes.AddAccess(ctx, ids[0], entry(user)); !errors.As(err, &e) || e.Class != errdefs.PermissionDenied {
		t.Errorf("a list that cannot be set: %v", err)
	}
	fail = false
	add := func(sid win32.SID, want AccessResult) {
		t.Helper()
		got, err := n.Volumes.AddAccess(ctx, ids[0], entry(sid))
		check(err)
		if got != want {
			t.Errorf("an entry for %s: %d, want %d", sid, got, want)
		}
	}
	add(user, AccessAdded)
	add(user, AccessPresent)
	if sets != 2 {
		t.Errorf("the list was set %d times, want once that failed and once", sets)
	}
	before, err := k.RootAccess(ids[0])
	check(err)
	want := []win32.AccessEntry{win32.NewAccessEntry(win32.AdministratorsSID(), AccessFull),
		win32.NewAccessEntry(win32.SystemSID(), AccessFull), win32.NewAccessEntry("S-1-5-32-545", AccessRead),
		win32.NewAccessEntry(user, AccessModify)}
	if diff := cmp.Diff(want, before); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	check(n.Volumes.MountVolume(ctx, ids[0], testLink))
	root, err := k.HostPath(testLink)
	check(err)
	check(os.WriteFile(filepath.Join(root, "data"), nil, 0o600))
	add(other, AccessNotAdded)
	add(user, AccessPresent)
	after, err := k.RootAccess(ids[0])
	check(err)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the list of a volume with a file has changed:\n%s", diff)
	}
	system, err := k.VolumeNameForMountPoint(`C:\`)
	check(err)
	if _, err := n.Volumes.AddAccess(ctx, system, entry(user)); !errors.As(err, &e) || e.Class != errdefs.FailedPrecondition {
		t.Errorf("the system volume: %v", err)
	}
}
