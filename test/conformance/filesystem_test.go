// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

func fileScenarios() map[string]scenario {
	return map[string]scenario{
		"PathExists": {
			success: func(d *driver) {
				for at, want := range map[string]bool{
					d.unusedPath(): false, d.directory(): true, d.linked(d.directory()): true, d.linked(d.unusedPath()): true,
					kubelet + `\none\below`: false, pods[len(`C:`):]: true,
				} {
					got := d.exists(at)
					if got != want {
						d.t.Errorf("%s exists: %t, want %t", at, got, want)
					}
				}
			},
			failure: func(d *driver) {
				for _, function := range []string{"QueryAttributes", "OpenFile"} {
					d.node.Faults.Add(testnode.Fault{Function: function, Error: win32.ERROR_ACCESS_DENIED})
				}
				d.fails("a path that cannot be opened", codes.PermissionDenied, "PathExists", values{path: pods})
			},
		},
		"Mkdir": {
			success: func(d *driver) {
				at := d.unusedPath() + `\a\b..c`
				caller.OK(d.t, d.mkdir(at))
				if !d.present(at) {
					d.t.Error("the directory is not there")
				}
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
				caller.OK(d.t, d.rmdir(empty, false))
				caller.OK(d.t, d.rmdir(full, true))
				link := d.linked(at)
				caller.OK(d.t, d.rmdir(link, true))
				d.intact(at)
				caller.OK(d.t, d.rmdir(at, true)) // a live mount point: this is how Azure Disk unmounts
				for _, gone := range []string{empty, full, link, at} {
					if d.present(gone) {
						d.t.Errorf("%s is still there", gone)
					}
				}
				if v := d.treeOf(number).Partitions[1].Volume; v.ID != id ||
					v.UsedBytes < int64(len("precious")) {
					d.t.Errorf("the volume is %v now", v)
				}
				caller.OK(d.t, d.mount(id, at))
				d.intact(at)
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
				caller.OK(d.t, d.mkdir(at+`\a\b`))
				caller.OK(d.t, d.link(at+`\link`, mounted))
				caller.OK(d.t, d.rmdirContents(at))
				if !d.present(at) || d.present(at+`\a`) || d.present(at+`\link`) || d.present(at+`\file`) {
					d.t.Error("the directory did not stay, or its content did")
				}
				d.intact(mounted)
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
				caller.OK(d.t, d.link(link, mounted))
				to, err := d.node.Emulated.Readlink(link)
				caller.OK(d.t, err)
				same(d.t, to, mounted)
				d.intact(link)
			},
			failure: func(d *driver) {
				link := d.linked(d.directory())
				before, err := d.node.Emulated.Readlink(link)
				caller.OK(d.t, err)
				wantCode(d.t, "another link there", d.link(link, d.directory()), codes.AlreadyExists)
				wantCode(d.t, "a directory there", d.link(d.directory(), d.directory()), codes.AlreadyExists)
				wantCode(d.t, "the working directory", d.link(kubelet, d.directory()), codes.FailedPrecondition)
				wantCode(d.t, "no parent", d.link(d.unusedPath()+`\link`, d.directory()), codes.NotFound)
				after, err := d.node.Emulated.Readlink(link)
				caller.OK(d.t, err)
				same(d.t, after, before)
			},
		},
		"IsSymlink": {
			success: func(d *driver) {
				_, _, mounted := d.mounted()
				for at, want := range map[string]bool{
					d.directory(): false, mounted: true, d.linked(mounted): true, d.linked(d.directory()): true,
					d.linked(d.unusedPath()): false,
				} {
					got := d.isSymlink(at)
					if got != want {
						d.t.Errorf("%s is a link: %t, want %t", at, got, want)
					}
				}
				for _, at := range spellings(mounted) {
					same(d.t, d.isSymlink(at), true)
				}
			},
			failure: func(d *driver) {
				d.fails("a missing path", codes.NotFound, "IsSymlink", values{path: d.unusedPath()})
				d.node.Faults.Add(testnode.Fault{Function: "OpenFile", Error: win32.ERROR_ACCESS_DENIED})
				d.fails("a path that cannot be opened", codes.PermissionDenied, "IsSymlink", values{path: pods})
			},
		},
	}
}
