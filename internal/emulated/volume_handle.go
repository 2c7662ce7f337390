// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"slices"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32/cstruct"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
)

// volumeHandle is a volume opened as a device.
type volumeHandle struct {
	*device
	disk   *disk
	id     guid.GUID
	locked bool // by this handle
}

// open returns a handle on the volume.
func (v *volume) open(as *device) (kernel.Handle, error) {
	if v.lockedBy() != nil {
		return nil, win32.ERROR_ACCESS_DENIED
	}
	h := &volumeHandle{device: as, disk: v.disk, id: v.ID}
	as.answer, as.span = h.answer, h.span
	v.disk.open[v.ID] = append(v.disk.open[v.ID], h)
	return h, nil
}

// lockedBy returns the handle that has locked the volume, nil if none has.
func (v *volume) lockedBy() *volumeHandle {
	for _, h := range v.disk.open[v.ID] {
		if h.locked {
			return h
		}
	}
	return nil
}

// Close implements kernel.Handle. A lock ends with its handle.
func (h *volumeHandle) Close() (err error) {
	defer h.call("CloseHandle", &err)()
	h.closed = true
	h.disk.open[h.id] = slices.DeleteFunc(h.disk.open[h.id], func(o *volumeHandle) bool { return o == h })
	return nil
}

// volume returns the handle's volume as it is now, which must be online.
func (h *volumeHandle) volume() (*volume, error) {
	v := h.disk.volume(func(v *volume) bool { return v.ID == h.id })
	switch {
	case v == nil:
		return nil, errVolumeGone
	case v.offline():
		return nil, win32.ERROR_NOT_READY
	}
	return v, nil
}

// answer answers a control code to the volume or its file system.
func (h *volumeHandle) answer(code uint32, in, out []byte) (int, error) {
	v, err := h.volume()
	switch {
	case code == win32.IOCTL_VOLUME_ONLINE && !errors.Is(err, errVolumeGone):
		h.node.online[h.id] = true
		return 0, nil
	case err != nil:
		return 0, err
	}
	switch code {
	case win32.IOCTL_VOLUME_IS_OFFLINE:
		return 0, win32.ERROR_GEN_FAILURE // it is online; the page: STATUS_UNSUCCESSFUL
	case win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS:
		return putOrHeader(out, deviceside.VolumeDiskExtents(win32.VolumeDiskExtents{
			{DiskNumber: v.disk.record.Number, StartingOffset: v.StartingOffset, Length: v.Length}}))
	case win32.IOCTL_MOUNTDEV_QUERY_DEVICE_NAME:
		return put(out, deviceside.MountdevName(v.deviceName()))
	case win32.IOCTL_STORAGE_GET_DEVICE_NUMBER:
		return put(out, cstruct.Encode(win32.StorageDeviceNumber{
			DeviceType: win32.FILE_DEVICE_DISK, DeviceNumber: v.disk.record.Number, PartitionNumber: v.Number,
		}))
	case win32.IOCTL_DISK_GET_LENGTH_INFO:
		return put(out, cstruct.Encode(v.knownLength()))
	case win32.FSCTL_GET_NTFS_VOLUME_DATA:
		return h.ntfsData(v, out)
	case win32.FSCTL_LOCK_VOLUME:
		return 0, h.lock(v)
	case win32.FSCTL_DISMOUNT_VOLUME:
		h.node.contents.dismount(h.id)
		return 0, nil
	case win32.FSCTL_EXTEND_VOLUME:
		return 0, given(in, deviceside.Parse[int64], win32.ERROR_INVALID_PARAMETER, v.extend)
	}
	return 0, win32.ERROR_INVALID_FUNCTION
}

func (h *volumeHandle) ntfsData(v *volume, out []byte) (int, error) {
	if err := v.mounted(); err != nil {
		return 0, err
	}
	if v.boot.FileSystem != "NTFS" {
		return 0, win32.ERROR_INVALID_FUNCTION
	}
	return put(out, cstruct.Encode(win32.NTFSVolumeData{NumberSectors: int64(v.boot.Sectors),
		BytesPerSector: v.boot.BytesPerSector, BytesPerCluster: v.boot.ClusterBytes}))
}

// lock is FSCTL_LOCK_VOLUME: it fails while anything else is open on the volume. A page file always is, and Windows
// itself.
func (h *volumeHandle) lock(v *volume) error {
	if len(h.disk.open[h.id]) > 1 || h.node.contents.open(v) || v.disk.record.System || v.pages() {
		return win32.ERROR_ACCESS_DENIED
	}
	h.locked = true // from here on no file can be opened
	return nil
}

// span returns the partition.
func (h *volumeHandle) span() (span, error) {
	v, err := h.volume()
	if err != nil {
		return span{}, err
	}
	return span{v.disk, v.StartingOffset, v.Length}, nil
}

// Flush implements kernel.Handle. The host decides when the files of drivers in the volume's directory reach its disk;
// the node's own writes are there already.
func (h *volumeHandle) Flush() (err error) {
	defer h.call("FlushFileBuffers", &err)()
	if err := h.usable(); err != nil {
		return err
	}
	v, err := h.volume()
	switch {
	case err != nil:
		return err
	case !h.has(writeAccess):
		return win32.ERROR_ACCESS_DENIED
	case v.readOnly():
		return win32.ERROR_WRITE_PROTECT
	}
	return nil
}
