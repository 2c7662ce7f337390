// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// notMounted is in the text from which the AWS EBS driver learns that nothing is mounted.
const notMounted = "because it does not exist"

// spellings returns what drivers and kubelet write for a path, where slashes are taken for backslashes.
func spellings(path string) []string {
	slashes := strings.ReplaceAll(path, `\`, "/")
	return []string{path, strings.ToUpper(path), path + `\`, path[len(`C:`):], slashes, slashes[len(`C:`):] + "/"}
}

// mountScenarios returns the scenarios of the operations that bring volumes and paths together.
func mountScenarios() map[string]scenario {
	return map[string]scenario{
		"MountVolume": {
			success: func(d *driver) {
				number, id := d.ntfs()
				at := d.unusedPath()
				caller.OK(d.t, d.mount(id, at[len(`C:`):])) // kubelet's staging paths have no drive and need not exist
				d.write(at+`\data`, "precious")
				same(d.t, d.treeOf(number).Partitions[1].Volume.MountPoints, []string{at + `\`})
				second := d.directory()
				caller.OK(d.t, d.mount(id, strings.ReplaceAll(second, `\`, "/")))
				d.intact(second)
			},
			failure: func(d *driver) {
				_, id, at := d.mounted()
				_, other := d.ntfs()
				full := d.directory()
				d.write(full+`\file`, "stays")
				wantCode(d.t, "an unknown volume", d.mount(unknownVolume, d.unusedPath()), codes.NotFound)
				wantCode(d.t, "another volume there", d.mount(other, at), codes.FailedPrecondition)
				wantCode(d.t, "a link there", d.mount(id, d.linked(at)), codes.FailedPrecondition)
				wantCode(d.t, "a directory with content", d.mount(id, full), codes.FailedPrecondition)
				wantCode(d.t, "the working directory", d.mount(id, kubelet), codes.FailedPrecondition)
				d.intact(at)
			},
		},
		"UnmountVolume": {
			success: func(d *driver) {
				number, id, at := d.mounted()
				caller.OK(d.t, d.unmount(id, strings.ReplaceAll(at[len(`C:`):], `\`, "/")))
				if mounts := d.treeOf(number).Partitions[1].Volume.MountPoints; len(mounts) > 0 || !d.present(at) ||
					d.present(at+`\data`) {
					d.t.Errorf("mounted at %q, the directory is there: %t", mounts, d.present(at))
				}
				caller.OK(d.t, d.mount(id, at))
				d.intact(at)
			},
			failure: func(d *driver) {
				_, id, at := d.mounted()
				_, other := d.ntfs()
				wantCode(d.t, "another volume there", d.unmount(other, at), codes.FailedPrecondition)
				wantCode(d.t, "a link there", d.unmount(id, d.linked(at)), codes.FailedPrecondition)
				d.node.Once("Flush", win32.ERROR_DISK_FULL)
				wantCode(d.t, "a volume that cannot be flushed", d.unmount(id, at), codes.ResourceExhausted)
				d.intact(at)
			},
		},
		"GetVolumeIDFromTargetPath": {
			success: func(d *driver) {
				_, id, mounted := d.mounted()
				for _, at := range append(spellings(mounted), d.linked(d.linked(mounted))) {
					same(d.t, d.volumeAt(at), id)
				}
			},
			failure: func(d *driver) {
				_, _, mounted := d.mounted()
				caller.OK(d.t, d.mkdir(mounted+`\inside`))
				for name, at := range map[string]string{"a missing path": d.unusedPath(), "a plain directory": d.directory(),
					"a directory of a volume": mounted + `\inside`} {
					err := d.do("GetVolumeIDFromTargetPath", values{path: at})
					wantCode(d.t, name, err, codes.NotFound)
					if err == nil || !strings.Contains(err.Error(), notMounted) {
						d.t.Errorf("%s: %v lacks %q", name, err, notMounted)
					}
				}
				d.node.Faults.Add(testnode.Fault{Function: "OpenFile", Error: win32.ERROR_ACCESS_DENIED})
				err := d.do("GetVolumeIDFromTargetPath", values{path: mounted})
				wantCode(d.t, "a path that cannot be opened", err, codes.PermissionDenied)
				if err != nil && strings.Contains(err.Error(), notMounted) {
					d.t.Errorf("%v reads as if nothing was mounted", err)
				}
			},
		},
		"GetClosestVolumeIDFromTargetPath": {
			success: func(d *driver) {
				_, id, mounted := d.mounted()
				caller.OK(d.t, d.mkdir(mounted+`\inside`))
				system := d.treeOf(0).Partitions[2].Volume.ID
				for at, want := range map[string]string{mounted: id, mounted + `\inside`: id, mounted + "/inside": id,
					d.linked(mounted):             id,
					d.linked(mounted + `\inside`): id, pods: system, d.directory(): system} {
					same(d.t, d.closestVolume(at), want)
				}
			},
			failure: func(d *driver) {
				d.fails("a missing path", codes.NotFound, "GetClosestVolumeIDFromTargetPath", values{path: d.unusedPath()})
			},
		},
	}
}
