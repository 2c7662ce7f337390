// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// stageDisk stages a disk by its number.
func (d *driver) stageDisk(number uint32, at string) error {
	d.t.Helper()
	return d.do("StageDisk", values{disk: number, path: at})
}

func (d *driver) stageShare(from, at, as, with string) error {
	d.t.Helper()
	return d.do("StageShare", values{remote: from, path: at, user: as, password: with})
}

func (d *driver) unstage(at string) error { d.t.Helper(); return d.do("Unstage", values{path: at}) }

func (d *driver) publish(from, at string) error {
	d.t.Helper()
	return d.do("Publish", values{source: from, path: at})
}

func (d *driver) expand(at string, to int64) error {
	d.t.Helper()
	return d.do("Expand", values{path: at, size: to})
}

// volumeState returns the reason of a volume's condition.
func (d *driver) volumeState(at string) string {
	d.t.Helper()
	return ask[string](d, "GetVolume", values{path: at}, conditions)
}

// usage returns how full the volume or share at a path is.
func (d *driver) usage(at string) [3]int64 {
	d.t.Helper()
	r := d.must("GetVolume", values{path: at})
	return [3]int64{r.get(total).Int(), r.get(used).Int(), r.get(available).Int()}
}

// stepScenarios returns the scenarios of the steps of a CSI node service.
func stepScenarios() map[string]scenario {
	return map[string]scenario{
		"StageDisk": {
			success: func(d *driver) {
				number, at := d.blank(), d.unusedPath()
				r := d.must("StageDisk", values{serial: d.treeOf(number).SerialNumber, path: at})
				same(d.t, uint32(r.get(disk).Uint()), number)
				same(d.t, r.get(diskTotal).Int(), int64(gib))
				if size := r.get(total).Int(); size < gib-32<<20 || size > gib {
					d.t.Errorf("the file system has %d bytes", size)
				}
				same(d.t, d.treeOf(number).Partitions[1].Volume.ID, r.get(volume).String())
				d.write(at+`\data`, "precious")
				caller.OK(d.t, d.stageDisk(number, d.directory()))
				d.intact(at)
			},
			failure: func(d *driver) {
				other := d.blank()
				d.scribble(other, 512, "EFI PART")
				_, _, at := d.mounted()
				wantCode(d.t, "a disk that is not there", d.stageDisk(unknownDisk, d.unusedPath()), codes.NotFound)
				for range 2 {
					d.attached(bundle.Spec{LUNAuto: true, SerialNumber: "twin"})
				}
				wantCode(d.t, "several disks", d.do("StageDisk", values{serial: "twin", path: d.unusedPath()}),
					codes.FailedPrecondition)
				wantCode(d.t, "another volume there", d.stageDisk(other, at), codes.FailedPrecondition)
				wantCode(d.t, "read-only and without a file system",
					d.do("StageDisk", values{disk: d.blank(), path: d.unusedPath(), readOnly: true}), codes.FailedPrecondition)
				wantCode(d.t, "the system disk", d.stageDisk(0, d.unusedPath()), codes.FailedPrecondition)
				wantCode(d.t, "a disk with other content", d.stageDisk(other, d.unusedPath()), codes.FailedPrecondition)
				d.intact(at)
			},
		},
		"StageShare": {
			success: func(d *driver) {
				at, second := d.unusedPath(), d.directory()
				caller.OK(d.t, d.stageShare(share, at, "csi", "csi-password"))
				caller.OK(d.t, d.stageShare("//FS.emulated/share/", second, "csi", "csi-password"))
				d.write(at+`\file`, "shared")
				same(d.t, d.read(second+`\file`), "shared")
				for _, last := range []bool{false, true} {
					caller.OK(d.t, d.unstage(at))
					same(d.t, len(d.mapped()) == 0, last)
					at = second
				}
			},
			failure: func(d *driver) {
				wantCode(d.t, "a wrong password", d.stageShare(share, d.unusedPath(), "csi", "wrong"), codes.Unauthenticated)
				wantCode(d.t, "an unknown share", d.stageShare(`\\fs.emulated\none`, d.unusedPath(), "csi", "csi-password"),
					codes.NotFound)
				wantCode(d.t, "an unknown server", d.stageShare(`\\none.emulated\share`, d.unusedPath(), "csi", "csi-password"),
					codes.Unavailable)
				full := d.directory()
				d.write(full+`\data`, "precious")
				wantCode(d.t, "a directory with a file", d.stageShare(share, full, "csi", "csi-password"), codes.FailedPrecondition)
				d.intact(full)
				at := d.unusedPath()
				caller.OK(d.t, d.stageShare(share, at, "csi", "csi-password"))
				wantCode(d.t, "another share there",
					d.stageShare(`\\fs.emulated\other`, at, "csi", "csi-password"), codes.AlreadyExists)
				caller.OK(d.t, d.unstage(at))
				same(d.t, d.mapped(), nil)
			},
		},
		"Unstage": {
			success: func(d *driver) {
				number, _, at := d.mounted()
				link := d.linked(at)
				caller.OK(d.t, d.unstage(link))
				same(d.t, d.treeOf(number).IsOnline(), true)
				caller.OK(d.t, d.unstage(at))
				same(d.t, d.treeOf(number).IsOnline(), false)
				same(d.t, d.present(at), false)
				caller.OK(d.t, d.stageDisk(number, at))
				d.intact(at)
			},
			failure: func(d *driver) {
				full := d.directory()
				d.write(full+`\data`, "precious")
				wantCode(d.t, "a directory with a file", d.unstage(full), codes.FailedPrecondition)
				d.intact(full)
				_, _, at := d.mounted()
				d.node.Once("Flush", win32.ERROR_DISK_FULL)
				wantCode(d.t, "a volume that cannot be flushed", d.unstage(at), codes.ResourceExhausted)
				d.intact(at)
			},
		},
		"Publish": {
			success: func(d *driver) {
				_, _, at := d.mounted()
				link := d.unusedPath() + `\volumes\mount`
				caller.OK(d.t, d.publish(at, link))
				d.intact(link)
				_, _, other := d.mounted()
				for _, instead := range []string{link, d.directory()} {
					caller.OK(d.t, d.publish(other, instead))
					d.write(instead+`\of-the-other`, "")
				}
				same(d.t, d.present(other+`\of-the-other`), true)
				same(d.t, d.present(at+`\of-the-other`), false)
			},
			failure: func(d *driver) {
				_, _, at := d.mounted()
				full := d.directory()
				d.write(full+`\data`, "precious")
				wantCode(d.t, "a directory with a file", d.publish(at, full), codes.FailedPrecondition)
				d.intact(full)
			},
		},
		"Expand": {
			success: func(d *driver) {
				number, _, at := d.mounted()
				d.node.GrowDisk(number, 2*gib)
				r := d.must("Expand", values{path: d.linked(at), size: int64(2 * gib)})
				same(d.t, r.get(diskTotal).Int(), int64(2*gib))
				if size := r.get(total).Int(); size < 2*gib-32<<20 {
					d.t.Errorf("the file system has %d bytes", size)
				}
				d.intact(at)
			},
			failure: func(d *driver) {
				_, _, at := d.mounted()
				wantCode(d.t, "more than the disk has", d.expand(at, gib+1), codes.Unavailable)
				wantCode(d.t, "a directory", d.expand(d.directory(), 0), codes.NotFound)
				wantCode(d.t, "a missing path", d.expand(d.unusedPath(), 0), codes.NotFound)
			},
		},
		"GetVolume": {
			success: func(d *driver) {
				number, id, at := d.mounted()
				for _, at := range []string{at, d.linked(at)} {
					r := d.must("GetVolume", values{path: at})
					same(d.t, r.get(abnormal).Bool(), false)
					same(d.t, r.get(conditions).String(), "")
					same(d.t, r.get(sizeCode).Int(), 0)
					same(d.t, r.get(volume).String(), id)
					of := d.usage(at)
					if of[0] < gib-32<<20 || of[0] > gib || of[1] <= 0 || of[2] <= 0 || of[1]+of[2] != of[0] {
						d.t.Errorf("total, used and available of a volume: %d", of)
					}
				}
				d.node.DetachDisk(number)
				for at, want := range map[string]string{at: "DISK_NOT_FOUND", d.directory(): "NOT_MOUNTED"} {
					same(d.t, d.volumeState(at), want)
					same(d.t, d.usage(at), [3]int64{})
				}
				at = d.unusedPath()
				caller.OK(d.t, d.node.Emulated.AddSMBShare("fs.emulated", "usage", nil))
				d.node.SetSMBShareSpace("fs.emulated", "usage", 10<<30, 0)
				caller.OK(d.t, d.stageShare(`\\fs.emulated\usage`, at, "csi", "csi-password"))
				d.write(at+`\data`, "less than a unit")
				for _, at := range []string{at, d.linked(at)} {
					same(d.t, d.usage(at), [3]int64{10 << 30, 4096, 10<<30 - 4096})
				}
				d.node.SetSMBShareSpace("fs.emulated", "usage", 10<<30, 1<<30)
				same(d.t, d.usage(at), [3]int64{1 << 30, 4096, 1<<30 - 4096})
				caller.OK(d.t, d.unstage(at))
				d.node.RemoveSMBShare("fs.emulated", "usage")
			},
			failure: func(d *driver) {
				d.fails("a missing path", codes.NotFound, "GetVolume", values{path: d.unusedPath()})
				at := d.unusedPath()
				caller.OK(d.t, d.stageShare(share, at, "csi", "csi-password"))
				d.node.StopSMBServer("fs.emulated")
				same(d.t, d.volumeState(at), "NOT_ANSWERING")
				d.node.StartSMBServer("fs.emulated")
				d.node.Once("FsInformation", win32.ERROR_ACCESS_DENIED) // only the sizes are refused
				same(d.t, d.volumeState(at), "")
				caller.OK(d.t, d.node.Emulated.RemoveSMBGlobalMapping(share))
				same(d.t, d.volumeState(at), "NOT_MOUNTED")
				caller.OK(d.t, d.unstage(at))
				_, _, at = d.mounted()
				d.node.Faults.Add(testnode.Fault{Function: "OpenFile", Error: win32.ERROR_ACCESS_DENIED})
				d.fails("a path that cannot be opened", codes.PermissionDenied, "GetVolume", values{path: at})
			},
		},
	}
}
