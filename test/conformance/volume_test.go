// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

func volumeScenarios() map[string]scenario {
	all := mountScenarios()
	for operation, s := range contentScenarios() {
		all[operation] = s
	}
	return all
}

// contentScenarios returns the scenarios of the operations on a volume wherever it is mounted.
func contentScenarios() map[string]scenario {
	return map[string]scenario{
		"ListVolumesOnDisk": {
			success: func(d *driver) {
				number, id := d.raw()
				same(d.t, d.volumesOn(number), []string{id})
				system := d.volumesOn(0)
				tree := d.treeOf(0).Partitions
				// the data volume first, EFI after it
				same(d.t, system, []string{tree[2].Volume.ID, tree[0].Volume.ID})
				if d.has("ListVolumesOnDisk", partition) {
					same(d.t, d.texts("ListVolumesOnDisk", values{disk: uint32(0), partition: uint32(1)}, volumes), system[1:])
				}
			},
			failure: func(d *driver) {
				d.fails("an unknown disk", codes.NotFound, "ListVolumesOnDisk", values{disk: unknownDisk})
				offline, _ := d.ntfs()
				d.node.SetDiskOnline(offline, false)
				d.fails("an offline disk", codes.FailedPrecondition, "ListVolumesOnDisk", values{disk: offline})
				for _, number := range []uint32{d.blank(), 2} { // online and offline; a driver partitions such a disk
					same(d.t, len(d.volumesOn(number)), 0)
				}
			},
		},
		"IsVolumeFormatted": {
			success: func(d *driver) {
				_, raw := d.raw()
				_, ntfs := d.ntfs()
				for id, want := range map[string]bool{raw: false, ntfs: true} {
					same(d.t, d.isFormatted(id), want)
				}
			},
			failure: func(d *driver) {
				d.fails("an unknown volume", codes.NotFound, "IsVolumeFormatted", values{volume: unknownVolume})
			},
		},
		"FormatVolume": {
			success: func(d *driver) {
				number, id := d.raw()
				caller.OK(d.t, d.format(id))
				same(d.t, d.treeOf(number).Partitions[1].Volume.FileSystem, "NTFS")
			},
			failure: func(d *driver) {
				wantCode(d.t, "an unknown volume", d.format(unknownVolume), codes.NotFound)
				number, id := d.raw()
				offset := d.treeOf(number).Partitions[1].OffsetBytes + 0x438
				d.scribble(number, offset, "\x53\xef") // ext4's magic number
				wantCode(d.t, "a volume that is not blank", d.format(id), codes.FailedPrecondition)
				if !d.scribbled(number, offset, "\x53\xef") {
					d.t.Error("a volume that is not blank was written to")
				}
			},
		},
		"ResizeVolume": {
			success: func(d *driver) {
				number, id, at := d.mounted()
				length := func() int64 { return d.treeOf(number).Partitions[1].SizeBytes }
				before := length()
				d.node.GrowDisk(number, 4*gib)
				caller.OK(d.t, d.resize(id, before+gib))
				same(d.t, length(), before+gib)
				caller.OK(d.t, d.resize(fmt.Sprint(number), 0)) // Azure Disk sends the disk's number
				same(d.t, length(), before+3*gib)
				if total := d.treeOf(number).Partitions[1].Volume.TotalBytes; total < before+2*gib {
					d.t.Errorf("the file system has %d bytes in a partition of %d", total, length())
				}
				d.intact(at)
			},
			failure: func(d *driver) {
				wantCode(d.t, "an unknown volume", d.resize(unknownVolume, 0), codes.NotFound)
				_, id := d.ntfs()
				wantCode(d.t, "larger than the disk", d.resize(id, 2*gib), codes.OutOfRange)
				wantCode(d.t, "a negative size", d.resize(id, -1), codes.InvalidArgument)
			},
		},
		"GetVolumeStats": {
			success: func(d *driver) {
				number, id, _ := d.mounted()
				got := d.volumeStats(id)
				volume := d.treeOf(number).Partitions[1]
				same(d.t, got, stats{volume.Volume.TotalBytes, volume.Volume.UsedBytes})
				if got.Used <= 0 || got.Total <= got.Used || got.Total > volume.SizeBytes ||
					got.Total < volume.SizeBytes-1<<20 {
					d.t.Errorf("%+v in a partition of %d bytes", got, volume.SizeBytes)
				}
			},
			failure: func(d *driver) {
				d.fails("an unknown volume", codes.NotFound, "GetVolumeStats", values{volume: unknownVolume})
				_, id := d.ntfs()
				d.node.Faults.Add(testnode.Fault{Function: "DiskFreeSpace", Error: win32.ERROR_ACCESS_DENIED})
				d.fails("a volume that cannot be read", codes.PermissionDenied, "GetVolumeStats", values{volume: id})
			},
		},
		"GetDiskNumberFromVolumeID": {
			success: func(d *driver) {
				number, id := d.raw() // not mounted anywhere: this is how drivers find the disk to take offline
				for _, form := range []string{id, strings.ToUpper(id), strings.TrimSuffix(id, `\`),
					strings.TrimPrefix(id, `\\?\`)} {
					same(d.t, d.diskOf(form), number)
				}
			},
			failure: func(d *driver) {
				d.fails("an unknown volume", codes.NotFound, "GetDiskNumberFromVolumeID", values{volume: unknownVolume})
				number, id := d.raw()
				d.node.SetDiskOnline(number, false)
				d.fails("a volume of an offline disk", codes.NotFound, "GetDiskNumberFromVolumeID", values{volume: id})
			},
		},
		"WriteVolumeCache": {
			success: func(d *driver) {
				_, id, _ := d.mounted()
				d.node.Faults.Calls()
				caller.OK(d.t, d.flush(id))
				if !slices.ContainsFunc(d.node.Faults.Calls(), func(c kernel.Call) bool { return c.Function == "Flush" }) {
					d.t.Error("nothing was flushed")
				}
			},
			failure: func(d *driver) {
				wantCode(d.t, "an unknown volume", d.flush(unknownVolume), codes.NotFound)
				_, id := d.ntfs()
				d.node.Faults.Add(testnode.Fault{Function: "Flush", Error: win32.ERROR_DISK_FULL})
				wantCode(d.t, "a full disk", d.flush(id), codes.ResourceExhausted)
			},
		},
	}
}
