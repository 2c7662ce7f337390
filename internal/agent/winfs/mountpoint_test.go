// SPDX-License-Identifier: Apache-2.0

package winfs_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/reparse"
)

// A mount point whose removal fails is gone all the same if only its volume, or the handle that holds it, is in the
// way. What comes in its place meanwhile is another's, and stays.
func TestRemovalOfAMountPoint(t *testing.T) {
	const mount, half = pods + `\mount`, 500 * time.Millisecond
	denied := failure{errdefs.PermissionDenied, "ACCESS_DENIED", "removing the mount point " + mount}
	fails := func(code win32.Errno) func(*node, int) error { return func(*node, int) error { return code } }
	removed := func(n *node, _ int) error { return n.DeleteVolumeMountPoint(mount + `\`) }
	replacedBy := func(replace func(n *node)) func(*node, int) error {
		return func(n *node, _ int) error {
			n.check(n.DeleteVolumeMountPoint(mount + `\`))
			replace(n)
			return win32.ERROR_SHARING_VIOLATION
		}
	}
	for name, test := range map[string]struct {
		remove func(n *node, call int) error // stands for Windows' function
		// the query of the volume, and the deletion by the handle fail so; 0: they do not
		query, delete win32.Errno
		want          failure
		waited        time.Duration // at least, and at most twice that
		replaced      bool
	}{
		"removed": {remove: removed},
		"open for a moment": {remove: func(n *node, call int) error {
			if call < 3 {
				return win32.ERROR_SHARING_VIOLATION
			}
			return removed(n, call)
		}, waited: 15 * time.Millisecond},
		"held by the agent itself": {remove: fails(win32.ERROR_SHARING_VIOLATION), waited: half},
		"seen as no mount point":   {remove: fails(win32.ERROR_INVALID_PARAMETER)},
		"denied":                   {remove: fails(win32.ERROR_ACCESS_DENIED), want: denied},
		"denied, of a foreign format": {remove: fails(win32.ERROR_ACCESS_DENIED), query: win32.ERROR_UNRECOGNIZED_VOLUME,
			want: denied},
		"of a volume that hangs": {remove: fails(win32.ERROR_ACCESS_DENIED), query: win32.ERROR_NOT_READY},
		"of a volume that is gone": {remove: func(n *node, call int) error {
			_, err := n.DetachDisk(1)
			n.check(err)
			return removed(n, call)
		}},
		"removed, the mount manager not told": {remove: func(n *node, _ int) error {
			n.unplant(mount, win32.IO_REPARSE_TAG_MOUNT_POINT)
			return win32.ERROR_ACCESS_DENIED
		}},
		"not removed by the handle either": {remove: fails(win32.ERROR_SHARING_VIOLATION), delete: win32.ERROR_ACCESS_DENIED,
			want: failure{errdefs.Unavailable, "SHARING_VIOLATION", ""}, waited: half},
		"replaced by a volume": {replaced: true, remove: replacedBy(func(n *node) {
			n.check(n.SetVolumeMountPoint(mount+`\`, n.volumes[1]))
		})},
		"replaced by a junction": {replaced: true, remove: replacedBy(func(n *node) {
			n.plant(mount, reparse.Junction(`C:\Windows`))
		})},
	} {
		synctest.Test(t, func(t *testing.T) {
			n := newNode(t)
			n.mount(`mount`, n.volumes[0])
			begin, calls := time.Now(), 0
			err := n.run(func(files *winfs.FS) error {
				loc, l, err := files.OpenAt(n.path(mount), winfs.Walk{Pin: true}, win32.FILE_WRITE_ATTRIBUTES)
				if err != nil {
					return err
				}
				defer loc.Close()
				n.around = func(call kernel.Call, do func() error) error {
					switch {
					case test.query != 0 && call.Function == "VolumeInformation":
						return fault(call, test.query)
					case test.delete != 0 && call.Code == win32.FSCTL_DELETE_REPARSE_POINT:
						return fault(call, test.delete)
					}
					return do()
				}
				text, err := files.RetryBusy(l, func(string) error { calls++; return test.remove(n, calls) })
				if errors.Is(err, winfs.ErrReplaced) {
					return err
				}
				return files.RemovedMountPoint(l, text, mount, err)
			})
			if test.replaced {
				if !errors.Is(err, winfs.ErrReplaced) || calls != 1 {
					t.Errorf("%s: %v after %d calls", name, err, calls)
				}
				return
			}
			test.want.want(t, name, err)
			if waited := time.Since(begin); waited < test.waited || waited > 2*test.waited {
				t.Errorf("%s: waited %v", name, waited)
			}
			stays := test.want != (failure{})
			if _, err := n.Readlink(mount); errors.Is(err, win32.ERROR_NOT_A_REPARSE_POINT) == stays {
				t.Errorf("%s: the mount point is there: %v", name, err)
			}
			if names, err := n.VolumePathNames(n.volumes[0]); (len(names) > 0) != stays {
				t.Errorf("%s: the mount manager lists %q, %v", name, names, err)
			}
		})
	}
}

// A volume is flushed before it is unmounted. An error stops that if data could be lost, but not for a volume that is
// gone, whose mount point would block the pod.
func TestFlushBeforeUnmount(t *testing.T) {
	const broken, raw = win32.ERROR_IO_DEVICE, win32.ERROR_UNRECOGNIZED_VOLUME
	fails := failure{errdefs.Unavailable, "IO_DEVICE", "flushing volume"}
	gone := failure{errdefs.NotFound, reason.VolumeNotFound, "its disk may be detached"}
	for name, test := range map[string]struct {
		flush, query     win32.Errno // fail so; 0: they do not
		flushed, cleared failure     // how FlushVolume and FlushBeforeUnmount end
	}{
		"present":         {},
		"write-protected": {flush: win32.ERROR_WRITE_PROTECT},
		"broken":          {flush: broken, flushed: fails, cleared: fails},
		"gone meanwhile":  {flush: broken, query: win32.ERROR_NO_SUCH_DEVICE, flushed: fails},
		"gone":            {flushed: gone},
		"raw": {flush: win32.ERROR_INVALID_FUNCTION, query: raw,
			flushed: failure{errdefs.Unsupported, "INVALID_FUNCTION", "flushing volume"}},
		"raw and broken": {flush: broken, query: raw, flushed: fails, cleared: fails},
	} {
		n := newNode(t)
		id, err := winpath.ParseVolumeID(n.volumes[0])
		if test.flushed == gone {
			_, err = n.DetachDisk(1)
		}
		n.check(err)
		n.around = func(call kernel.Call, do func() error) error {
			if code := map[string]win32.Errno{"Flush": test.flush, "VolumeInformation": test.query}[call.Function]; code != 0 {
				return fault(call, code)
			}
			return do()
		}
		test.flushed.want(t, name, n.run(func(files *winfs.FS) error { return files.FlushVolume(id) }))
		test.cleared.want(t, name, n.run(func(files *winfs.FS) error {
			if files.VolumePresent(id) != (test.flushed != gone) {
				t.Errorf("%s: the volume is present: %t", name, test.flushed == gone)
			}
			return files.FlushBeforeUnmount(id)
		}))
	}
}
