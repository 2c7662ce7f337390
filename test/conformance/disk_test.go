// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

func diskScenarios() map[string]scenario {
	return map[string]scenario{
		"ListDiskLocations": {
			success: func(d *driver) {
				number := d.attached(bundle.Spec{Adapter: 3, Bus: 1, Target: 2, LUN: 12, Offline: true})
				got := d.listDiskLocations()
				same(d.t, got, map[uint32]location{
					0: {"1", "0", "0", ""}, 1: {"0", "0", "0", "1"}, 2: {"0", "0", "0", "2"}, number: {"3", "1", "2", "12"},
				})
			},
			failure: listingFails("ListDiskLocations", nil),
		},
		"ListDiskIDs": {
			success: func(d *driver) {
				number := d.attached(bundle.Spec{LUNAuto: true, SerialNumber: " Ab_1 2. "})
				got := d.listDiskIDs()
				want := map[uint32]diskIDs{
					0: {got[0].Page83, "EMU-DISK-0000"},
					1: {"60022480454d552d4449534b30303031", "vol0123456789abcdef1"},
					2: {"EMULATED  disk-2", "vol0123456789abcdef2"}, number: {"", "Ab_1 2."},
				}
				same(d.t, got, want)
			},
			failure: listingFails("ListDiskIDs", nil),
		},
		"GetDiskNumberByName": {
			success: func(d *driver) {
				for number, name := range map[uint32]string{1: "60022480454d552d4449534b30303031", 2: "EMULATED  disk-2"} {
					same(d.t, d.diskNumberByName(name), number)
				}
			},
			failure: func(d *driver) {
				d.fails("a serial number", codes.NotFound, "GetDiskNumberByName", values{diskName: "vol0123456789abcdef1"})
				listingFails("GetDiskNumberByName", values{diskName: "EMULATED  disk-2"})(d)
			},
		},
		"Rescan": {
			success: func(d *driver) {
				d.node.Faults.Calls()
				caller.OK(d.t, d.rescan())
				if !slices.ContainsFunc(d.node.Faults.Calls(),
					func(c kernel.Call) bool { return c.Function == "ReenumerateDevices" }) {
					d.t.Error("the kernel was not asked to look for devices")
				}
			},
			failure: func(d *driver) {
				d.node.Faults.Add(testnode.Fault{Function: "ReenumerateDevices", Error: win32.ERROR_ACCESS_DENIED})
				d.node.Faults.Add(testnode.Fault{Function: "UpdateStorageCache", Error: win32.ERROR_ACCESS_DENIED})
				wantCode(d.t, "a failing kernel call", d.rescan(), codes.PermissionDenied)
			},
		},
		"PartitionDisk": {
			success: func(d *driver) {
				number := d.blank()
				d.node.SetDiskOnline(number, false)
				caller.OK(d.t, d.partitionDisk(number))
				disk := d.treeOf(number)
				var kinds []string
				for _, p := range disk.Partitions {
					kinds = append(kinds, p.Kind)
				}
				same(d.t, kinds, []string{"Microsoft Reserved", "basic data"})
				if disk.Style != "GPT" || !disk.IsOnline() || disk.Partitions[1].Volume == nil {
					d.t.Errorf("the disk is %v", disk)
				}
			},
			failure: func(d *driver) {
				wantCode(d.t, "an unknown disk", d.partitionDisk(unknownDisk), codes.NotFound)
				number := d.blank()
				d.scribble(number, 4096, "another system's")
				wantCode(d.t, "a disk that is not blank", d.partitionDisk(number), codes.FailedPrecondition)
				if !d.scribbled(number, 4096, "another system's") || d.treeOf(number).Style != "RAW" {
					d.t.Error("a disk that is not blank was written to")
				}
			},
		},
		"GetDiskStats": {
			success: func(d *driver) {
				number := d.blank()
				d.node.GrowDisk(number, 3*gib)
				for number, want := range map[uint32]int64{0: 64 * gib, 1: 10 * gib, 2: 20 * gib, number: 3 * gib} {
					same(d.t, d.diskSize(number), want)
				}
			},
			failure: func(d *driver) {
				d.fails("an unknown disk", codes.NotFound, "GetDiskStats", values{disk: unknownDisk})
				d.node.Faults.Add(testnode.Fault{Function: "DeviceIoControl", Code: win32.IOCTL_DISK_GET_DRIVE_GEOMETRY_EX,
					Error: win32.ERROR_CRC})
				d.fails("a disk that cannot be read", codes.DataLoss, "GetDiskStats", values{disk: uint32(1)})
			},
		},
		"SetDiskState": {
			success: func(d *driver) {
				number, id, at := d.mounted()
				caller.OK(d.t, d.setOnline(number, false))
				if tree := d.treeOf(number); tree.IsOnline() {
					d.t.Errorf("the disk is online: %v", tree)
				}
				caller.OK(d.t, d.setOnline(number, true))
				if tree := d.treeOf(number); !tree.IsOnline() || tree.Partitions[1].Volume.ID != id {
					d.t.Errorf("the disk did not come back with its volume %s: %v", id, tree)
				}
				d.intact(at)
			},
			failure: func(d *driver) {
				wantCode(d.t, "an unknown disk", d.setOnline(unknownDisk, true), codes.NotFound)
			},
		},
		"GetDiskState": {
			success: func(d *driver) {
				for number, want := range map[uint32]bool{0: true, 1: true, 2: false} {
					same(d.t, d.isOnline(number), want)
				}
			},
			failure: func(d *driver) {
				d.fails("an unknown disk", codes.NotFound, "GetDiskState", values{disk: unknownDisk})
			},
		},
	}
}

// listingFails makes a call that looks at all disks fail: not at one disk, which would be left out, but altogether.
func listingFails(operation string, v values) func(*driver) {
	return func(d *driver) {
		d.t.Helper()
		d.node.Once("DiskInterfaces", win32.ERROR_ACCESS_DENIED)
		d.fails("no list of disks", codes.PermissionDenied, operation, v)
		d.node.Faults.Add(testnode.Fault{Function: "OpenDevice", Error: win32.ERROR_NOT_READY})
		d.fails("no disk that can be opened", codes.Unavailable, operation, v)
	}
}

// same asserts that two values are equal.
func same[T any](t testing.TB, got, want T) {
	t.Helper()
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want):\n%s", diff)
	}
}
