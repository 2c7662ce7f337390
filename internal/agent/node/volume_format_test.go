// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
)

// unformattable is a node that formats late or never, and whose disks have more attributes than their own.
type unformattable struct {
	*emulated.Node
	refusal    error
	attributes uint64
	attempts   int
	succeeds   int // at this attempt; 0: never
}

func (u *unformattable) FormatVolume(name, fileSystem string) error {
	if u.attempts++; u.attempts == u.succeeds {
		return u.Node.FormatVolume(name, fileSystem)
	}
	return u.refusal
}

func (u *unformattable) OpenDevice(path string, access uint32) (kernel.Handle, error) {
	h, err := u.Node.OpenDevice(path, access)
	if err == nil && path == `\\.\PhysicalDrive1` {
		h = attributedHandle{h, u}
	}
	return h, err
}

type attributedHandle struct {
	kernel.Handle
	of *unformattable
}

func (h attributedHandle) DeviceIoControl(code uint32, in, out []byte) (int, error) {
	if code == win32.IOCTL_DISK_GET_DISK_ATTRIBUTES {
		return copy(out, cstruct.Encode(win32.GetDiskAttributes{Version: win32.SizeofGetDiskAttributes,
			Attributes: h.of.attributes})), nil
	}
	return h.Handle.DeviceIoControl(code, in, out)
}

// newVolume returns the volume of a partition that was just made on disk 1.
func newVolume(t *testing.T, n *Node) string {
	t.Helper()
	must(t, by(t.Context(), n).PartitionDisk(1))
	ids, err := by(t.Context(), n).ListVolumesOnDisk(1)
	must(t, err)
	return ids[0]
}

// TestNewVolumeIsNotReadyAtOnce: a volume that has just arrived is asked for its file system again.
func TestNewVolumeIsNotReadyAtOnce(t *testing.T) {
	for _, code := range []win32.Errno{win32.ERROR_NOT_READY, win32.ERROR_INVALID_PARAMETER} {
		synctest.Test(t, func(t *testing.T) {
			k := emulate(t, emulated.Options{})
			asked := 0
			n := bare(t, kernel.Intercept(t.Context(), k, nil, func(_ context.Context, call kernel.Call, do func() error) error {
				if call.Function == "VolumeInformation" {
					if asked++; asked <= 2 {
						return &kernel.Error{Function: call.Function, Object: call.Object, Code: code}
					}
				}
				return do()
			}))
			if formatted, err := by(t.Context(), n).IsVolumeFormatted(newVolume(t, n)); err != nil || formatted {
				t.Errorf("%v: formatted: %t, %v", code, formatted, err)
			}
		})
	}
}

// TestFormatThatIsRefused: a refusal is retried only if it may come from a provider whose cache is old. The disk's own
// answer counts more.
func TestFormatThatIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		refusal    win32.Errno
		attributes uint64
		class      errdefs.Class
		reason     string
		repeated   time.Duration // 0: it is not repeated
	}{
		"cache out of date":  {kernel.StorageCacheOutOfDate, 0, errdefs.Unavailable, "WIN32_40003", formatTime},
		"not in the cache":   {kernel.StorageNotInCache, 0, errdefs.Unavailable, "WIN32_40006", formatTime},
		"offline, it says":   {kernel.StorageDiskOffline, 0, errdefs.Unavailable, "WIN32_41003", formatTime},
		"read-only, it says": {win32.ERROR_WRITE_PROTECT, 0, errdefs.FailedPrecondition, "WRITE_PROTECT", formatTime},
		"busy":               {win32.ERROR_BUSY, 0, errdefs.Unavailable, "BUSY", formatTime},
		"failed, it says":    {win32.ERROR_GEN_FAILURE, 0, errdefs.Internal, "GEN_FAILURE", freshTime},
		"invalid, it says":   {win32.ERROR_INVALID_PARAMETER, 0, errdefs.InvalidArgument, "INVALID_PARAMETER", freshTime},
		"offline": {kernel.StorageDiskOffline, win32.DISK_ATTRIBUTE_OFFLINE, errdefs.FailedPrecondition,
			reason.DiskOffline, 0},
		"read-only": {win32.ERROR_WRITE_PROTECT, win32.DISK_ATTRIBUTE_READ_ONLY, errdefs.FailedPrecondition,
			reason.DiskReadOnly, 0},
		"outdated, of a disk that is offline": {kernel.StorageCacheOutOfDate, win32.DISK_ATTRIBUTE_OFFLINE,
			errdefs.FailedPrecondition, reason.DiskOffline, 0},
		"something else": {win32.ERROR_IO_DEVICE, 0, errdefs.Unavailable, "IO_DEVICE", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := emulate(t, emulated.Options{})
				u := &unformattable{Node: k, refusal: test.refusal}
				n := bare(t, u)
				id := newVolume(t, n)
				u.attributes = test.attributes
				begin := time.Now()
				wantError(t, by(t.Context(), n).FormatVolume(id), test.class, test.reason)
				if took := time.Since(begin); (u.attempts > 1) != (test.repeated > 0) || took < test.repeated ||
					took > test.repeated+time.Second {
					t.Errorf("%d attempts in %v", u.attempts, took)
				}
				u.succeeds = u.attempts + 3
				if err := by(t.Context(), n).FormatVolume(id); (err == nil) != (test.repeated > 0) {
					t.Errorf("refused twice more: %v", err)
				}
			})
		})
	}
}
