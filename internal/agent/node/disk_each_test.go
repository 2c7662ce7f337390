// SPDX-License-Identifier: Apache-2.0

package node

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
)

// countedNode is an emulated node with its system disk and others, and with a count of the kernel calls that f selects.
func countedNode(t *testing.T, f func(kernel.Call) bool, disks ...bundle.Spec) (*Node,
	*emulated.Node, *atomic.Int32) {
	t.Helper()
	count := &atomic.Int32{}
	n, k := nodeWith(t, func(_ context.Context, call kernel.Call, do func() error) error {
		if f(call) {
			count.Add(1)
		}
		return do()
	}, disks...)
	return n, k, count
}

// nodeWith is an emulated node with its system disk and others, and with an interceptor.
func nodeWith(t *testing.T, around kernel.Interceptor, disks ...bundle.Spec) (*Node, *emulated.Node) {
	t.Helper()
	scenario := scenario.Default()
	scenario.Disks = disks
	k := emulate(t, emulated.Options{Scenario: &scenario})
	n := newNode(t, k, Config{Interceptor: around})
	return n, k
}

// Of each disk the number is asked, and its identifiers at once; what is missing there is asked again, because a driver
// may answer the one question and not the other.
func TestCallsForIdentifiers(t *testing.T) {
	page83 := []win32.StorageIdentifier{{CodeSet: win32.StorageIdCodeSetAscii, Identifier: []byte("page-83")}}
	long := slices.Clone(page83) // longer than the first buffer
	for range 20 {
		long = append(long, win32.StorageIdentifier{CodeSet: win32.StorageIdCodeSetAscii,
			Identifier: bytes.Repeat([]byte("x"), 250)})
	}
	for name, test := range map[string]struct {
		disk            bundle.Spec
		together, apart int32 // calls for the disk
		want            DiskIDs
	}{
		"both": {bundle.Spec{SerialNumber: "serial", Identifiers: page83}, 3, 5,
			DiskIDs{"page-83", "serial"}},
		"no page 83":       {bundle.Spec{SerialNumber: "serial"}, 4, 5, DiskIDs{"", "serial"}},
		"no serial number": {bundle.Spec{Identifiers: page83}, 4, 5, DiskIDs{"page-83", ""}},
		"neither":          {bundle.Spec{}, 5, 5, DiskIDs{}},
		"long": {bundle.Spec{SerialNumber: "serial", Identifiers: long}, 4, 6,
			DiskIDs{"page-83", "serial"}},
	} {
		t.Run(name, func(t *testing.T) {
			test.disk.SizeBytes = 64 << 20
			apart, calls := false, int32(0)
			n, _ := nodeWith(t, func(_ context.Context, call kernel.Call, do func() error) error {
				if strings.Contains(call.Object, "#1") {
					calls++
				}
				if apart && call.Code == win32.IOCTL_STORAGE_QUERY_PROPERTY &&
					call.Input[0] == win32.StorageDeviceUniqueIdProperty {
					return &kernel.Error{Function: call.Function, Object: call.Object, Code: win32.ERROR_INVALID_FUNCTION}
				}
				return do()
			}, test.disk)
			for _, want := range []int32{test.together, test.apart} {
				calls = 0
				ids, err := by(t.Context(), n).ListDiskIDs()
				got := DiskIDs{ids[1].GetPage83(), ids[1].GetSerialNumber()}
				if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
					t.Errorf("apart %t: %v (-want +got)\n%s", apart, err, diff)
				}
				if calls != want {
					t.Errorf("apart %t: %d calls, want %d", apart, calls, want)
				}
				apart = true
			}
		})
	}
}

// Disks that were pulled out come back with each other's numbers: each is found to have its own volume.
func TestVolumesOfDisksThatSwappedNumbers(t *testing.T) {
	disks := []bundle.Spec{{SizeBytes: 64 << 20, Formatted: true, LUN: 1},
		{SizeBytes: 64 << 20, Formatted: true, LUN: 2}}
	n, k, lists := countedNode(t, func(call kernel.Call) bool { return call.Function == "VolumeNames" }, disks...)
	volumeOf := func(number uint32) string {
		ids, err := by(t.Context(), n).ListVolumesOnDisk(number)
		if err != nil || len(ids) != 1 {
			t.Fatalf("disk %d: %v, %v", number, ids, err)
		}
		return ids[0]
	}
	before := []string{volumeOf(1), volumeOf(2)}
	var images []string
	for _, number := range []uint32{1, 2} {
		image, err := k.DetachDisk(number)
		must(t, err)
		images = append(images, image)
	}
	for i, image := range []string{images[1], images[0]} {
		if number, err := k.AttachDisk(bundle.Spec{ImagePath: image, LUNAuto: true}); err != nil ||
			number != uint32(i+1) {
			t.Fatalf("disk %d, %v", number, err)
		}
	}
	if after := []string{volumeOf(2), volumeOf(1)}; !cmp.Equal(before, after) {
		t.Errorf("the volumes were %q and are %q", before, after)
	}
	if got := lists.Load(); got != 0 {
		t.Errorf("all volumes were listed %d times", got)
	}
}

// Many listings at once, whose calls are slow, leave no disk out and take none for one that hangs.
func TestManySlowListings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disks := make([]bundle.Spec, 20)
		for i := range disks {
			disks[i] = bundle.Spec{SizeBytes: 64 << 20, SerialNumber: fmt.Sprint("serial-", i), LUN: uint8(i)}
		}
		n, _, _ := countedNode(t, func(call kernel.Call) bool {
			if call.Function == "DeviceIoControl" {
				time.Sleep(50 * time.Millisecond)
			}
			return true
		}, disks...)
		const callers = 64
		var listings sync.WaitGroup
		for range callers {
			listings.Go(func() {
				if ids, err := by(t.Context(), n).ListDiskIDs(); err != nil || len(ids) != 1+len(disks) {
					t.Errorf("%d disks, %v", len(ids), err)
				}
			})
		}
		listings.Wait()
	})
}
