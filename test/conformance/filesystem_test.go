// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

func fileScenarios() map[string]scenario {
	return map[string]scenario{
		"PathExists": {
			success: func(d *driver) {
				for at, want := range map[string]bool{
					d.unusedPath(): false, d.directory(): true, d.linked(d.directory()): true, d.linked(d.unusedPath()): true,
					kubelet + `\none\below`: false,
				} {
					got, err := d.exists(at)
					noError(d.t, err)
					if got != want {
						d.t.Errorf("%s exists: %t, want %t", at, got, want)
					}
				}
			},
			repeat: func(d *driver) {
				at := d.directory()
				twice(d, func(d *driver) (bool, error) { return d.exists(at) })
			},
			failure: func(d *driver) {
				d.node.Faults.Add(testnode.Fault{Function: "OpenFile", Error: win32.ERROR_ACCESS_DENIED})
				_, err := d.exists(pods)
				wantCode(d.t, "a path that cannot be opened", err, codes.PermissionDenied)
			},
		},
		"Mkdir": {
			success: func(d *driver) {
				at := d.unusedPath() + `\a\b..c`
				noError(d.t, d.mkdir(at))
				if !d.present(at) {
					d.t.Error("the directory is not there")
				}
			},
			repeat: func(d *driver) {
				at := d.unusedPath() + `\a`
				unchanged(d, func(d *driver) error { return d.mkdir(at) })
			},
			failure: func(d *driver) {
				at := d.directory()
				d.write(at+`\file`, "stays")
				wantCode(d.t, "a file", d.mkdir(at+`\file`), codes.FailedPrecondition)
				wantCode(d.t, "below a file", d.mkdir(at+`\file\below`), codes.FailedPrecondition)
				same(d.t, d.read(at+`\file`), "stays")
			},
		},
		"Rmdir": {
			success: func(d *driver) {
				number, id, at := d.mounted()
				empty, full := d.directory(), d.directory()
				d.write(full+`\file`, "goes")
				noError(d.t, d.rmdir(empty, false))
				noError(d.t, d.rmdir(full, true))
				link := d.linked(at)
				noError(d.t, d.rmdir(link, true))
				d.intact(at)
				noError(d.t, d.rmdir(at, true)) // a live mount point: this is how Azure Disk unmounts
				for _, gone := range []string{empty, full, link, at} {
					if d.present(gone) {
						d.t.Errorf("%s is still there", gone)
					}
				}
				if v := d.treeOf(number).GetPartitions()[1].GetVolume(); v.GetId() != id ||
					v.GetUsedBytes() < int64(len("precious")) {
					d.t.Errorf("the volume is %v now", v)
				}
				noError(d.t, d.mount(id, at))
				d.intact(at)
			},
			repeat: func(d *driver) {
				at := d.directory()
				unchanged(d, func(d *driver) error { return d.rmdir(at, true) })
			},
			failure: func(d *driver) {
				at := d.directory()
				d.write(at+`\file`, "stays")
				wantCode(d.t, "a directory with content, without force", d.rmdir(at, false), codes.FailedPrecondition)
				wantCode(d.t, "a file", d.rmdir(at+`\file`, true), codes.FailedPrecondition)
				wantCode(d.t, "a missing path, without force", d.rmdir(d.unusedPath(), false), codes.NotFound)
				wantCode(d.t, "the working directory", d.rmdir(kubelet, true), codes.FailedPrecondition)
				same(d.t, d.read(at+`\file`), "stays")
			},
		},
		"RmdirContents": {
			success: func(d *driver) {
				_, _, mounted := d.mounted()
				at := d.directory()
				d.write(at+`\file`, "goes")
				noError(d.t, d.mkdir(at+`\a\b`))
				noError(d.t, d.link(at+`\link`, mounted))
				noError(d.t, d.rmdirContents(at))
				if !d.present(at) || d.present(at+`\a`) || d.present(at+`\link`) || d.present(at+`\file`) {
					d.t.Error("the directory did not stay, or its content did")
				}
				d.intact(mounted)
			},
			repeat: func(d *driver) {
				at := d.directory()
				d.write(at+`\file`, "goes")
				unchanged(d, func(d *driver) error { return d.rmdirContents(at) })
			},
			failure: func(d *driver) {
				_, _, mounted := d.mounted()
				wantCode(d.t, "a missing path", d.rmdirContents(d.unusedPath()), codes.NotFound)
				wantCode(d.t, "a mount point", d.rmdirContents(mounted), codes.FailedPrecondition)
				wantCode(d.t, "a link", d.rmdirContents(d.linked(mounted)), codes.FailedPrecondition)
				wantCode(d.t, "the working directory", d.rmdirContents(kubelet), codes.FailedPrecondition)
				d.intact(mounted)
			},
		},
		"CreateSymlink": {
			success: func(d *driver) {
				_, _, mounted := d.mounted()
				link := d.unusedPath()
				noError(d.t, d.link(link, mounted))
				to, err := d.node.Emulated.Readlink(link)
				noError(d.t, err)
				same(d.t, to, mounted)
				d.intact(link)
			},
			repeat: func(d *driver) {
				link, to := d.unusedPath(), d.directory()
				unchanged(d, func(d *driver) error { return d.link(link, to) })
			},
			failure: func(d *driver) {
				link := d.linked(d.directory())
				before, err := d.node.Emulated.Readlink(link)
				noError(d.t, err)
				wantCode(d.t, "another link there", d.link(link, d.directory()), codes.AlreadyExists)
				wantCode(d.t, "a directory there", d.link(d.directory(), d.directory()), codes.AlreadyExists)
				wantCode(d.t, "the working directory", d.link(kubelet, d.directory()), codes.FailedPrecondition)
				wantCode(d.t, "no parent", d.link(d.unusedPath()+`\link`, d.directory()), codes.NotFound)
				after, err := d.node.Emulated.Readlink(link)
				noError(d.t, err)
				same(d.t, after, before)
			},
		},
		"IsSymlink": {
			success: func(d *driver) {
				_, _, mounted := d.mounted()
				for at, want := range map[string]bool{
					d.directory(): false, mounted: true, d.linked(mounted): true, d.linked(d.directory()): true,
					d.linked(d.unusedPath()): false,
					mounted[len(`C:`):]:      true, // kubelet's staging paths have no drive
				} {
					got, err := d.isSymlink(at)
					noError(d.t, err)
					if got != want {
						d.t.Errorf("%s is a link: %t, want %t", at, got, want)
					}
				}
			},
			repeat: func(d *driver) {
				at := d.linked(d.directory())
				twice(d, func(d *driver) (bool, error) { return d.isSymlink(at) })
			},
			failure: func(d *driver) {
				_, err := d.isSymlink(d.unusedPath())
				wantCode(d.t, "a missing path", err, codes.NotFound)
				d.node.Faults.Add(testnode.Fault{Function: "OpenFile", Error: win32.ERROR_ACCESS_DENIED})
				_, err = d.isSymlink(pods)
				wantCode(d.t, "a path that cannot be opened", err, codes.PermissionDenied)
			},
		},
	}
}
