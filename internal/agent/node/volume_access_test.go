// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	api "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
)

// An access list gets entries once, SYSTEM and Administrators keep full control, and a volume whose root holds anything
// is left alone.
func TestAddAccess(t *testing.T) {
	ctx, sets, fail := t.Context(), 0, false
	check := func(err error) {
		t.Helper()
		must(t, err)
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
	number, err := k.AttachDisk(bundle.Spec{SizeBytes: 1 << 30, Formatted: true, LUNAuto: true})
	check(err)
	ids, err := by(ctx, n).ListVolumesOnDisk(number)
	check(err)
	const user, other = "S-1-5-93-2-2", "S-1-1-0"
	const read, modify, full = api.AccessRights_ACCESS_RIGHTS_READ, api.AccessRights_ACCESS_RIGHTS_MODIFY,
		api.AccessRights_ACCESS_RIGHTS_FULL
	entry := func(sid win32.SID, rights api.AccessRights) win32.AccessEntry {
		t.Helper()
		entries, err := parseAccess([]*api.AccessEntry{{Sid: string(sid), Rights: rights}})
		check(err)
		return entries[0]
	}
	addTo := func(volume string, sid win32.SID) (api.AccessResult, error) {
		t.Helper()
		id, err := parseVolumeID(volume)
		check(err)
		return changeTo(ctx, n, operation.On("test", operation.Volume(id)), func(o *op) (api.AccessResult, error) {
			return o.addAccess(id, []win32.AccessEntry{entry(sid, modify)})
		})
	}
	fail = true
	var e *errdefs.Error
	if _, err := addTo(ids[0], user); !errors.As(err, &e) || e.Class != errdefs.PermissionDenied {
		t.Errorf("a list that cannot be set: %v", err)
	}
	fail = false
	add := func(sid win32.SID, want api.AccessResult) {
		t.Helper()
		got, err := addTo(ids[0], sid)
		check(err)
		if got != want {
			t.Errorf("an entry for %s: %d, want %d", sid, got, want)
		}
	}
	add(user, api.AccessResult_ACCESS_RESULT_ADDED)
	add(user, api.AccessResult_ACCESS_RESULT_PRESENT)
	if sets != 2 {
		t.Errorf("the list was set %d times, want once that failed and once", sets)
	}
	before, err := k.RootAccess(ids[0])
	check(err)
	want := []win32.AccessEntry{entry(win32.AdministratorsSID(), full),
		entry(win32.SystemSID(), full), entry("S-1-5-32-545", read),
		entry(user, modify)}
	if diff := cmp.Diff(want, before); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	check(by(ctx, n).MountVolume(ids[0], testLink))
	root, err := k.HostPath(testLink)
	check(err)
	check(os.WriteFile(filepath.Join(root, "data"), nil, 0o600))
	add(other, api.AccessResult_ACCESS_RESULT_NOT_ADDED)
	add(user, api.AccessResult_ACCESS_RESULT_PRESENT)
	after, err := k.RootAccess(ids[0])
	check(err)
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the list of a volume with a file has changed:\n%s", diff)
	}
	system, err := k.VolumeNameForMountPoint(`C:\`)
	check(err)
	if _, err := addTo(system, user); !errors.As(err, &e) || e.Class != errdefs.FailedPrecondition {
		t.Errorf("the system volume: %v", err)
	}
}

// A list that is as long as lists can be is left as it is, and the caller learns what to do.
func TestAddAccessWithoutRoom(t *testing.T) {
	n, k := smbNode(t, nil)
	number, err := k.AttachDisk(bundle.Spec{SizeBytes: 1 << 30, Formatted: true, LUNAuto: true})
	must(t, err)
	ids, err := by(t.Context(), n).ListVolumesOnDisk(number)
	must(t, err)
	id, err := parseVolumeID(ids[0])
	must(t, err)
	root, err := k.HostPath(ids[0])
	must(t, err)
	var list win32.AccessList
	var full []byte
	for next, i := list.Bytes(), 0; next != nil; i++ {
		full = next
		list.Add(win32.NewAccessEntry(win32.SID(fmt.Sprintf("S-1-5-21-1-2-3-%d", i)), 1))
		next = list.Bytes()
	}
	must(t, os.WriteFile(filepath.Join(root, hostfiles.ReservedPrefix+"-access"), full, 0o600))
	_, err = changeTo(t.Context(), n, operation.On("test", operation.Volume(id)), func(o *op) (api.AccessResult, error) {
		return o.addAccess(id, []win32.AccessEntry{win32.NewAccessEntry("S-1-5-93-2-2", 1)})
	})
	if e := new(errdefs.Error); !errors.As(err, &e) || e.Class != errdefs.FailedPrecondition ||
		!strings.Contains(err.Error(), "icacls") {
		t.Errorf("got %v", err)
	}
}
