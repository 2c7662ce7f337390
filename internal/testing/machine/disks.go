// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
)

// Disks are the disks of a machine that a test attached: its agent changes no other. The zero value has none.
type Disks struct {
	own     sync.Map // the Identity of each disk, by number
	volumes sync.Map // of its disks, by name without a backslash at the end
}

// An Identity is what a disk says of itself instead of what a virtual disk does, whose answers cannot be chosen.
type Identity struct {
	SerialNumber string // empty: its own
	Page83       string // a T10 vendor identification; empty: its own identifiers
}

// Add adds a disk that was attached.
func (d *Disks) Add(number uint32, i Identity) { d.own.Store(number, i) }

// Remove forgets a disk that was detached: its number may be another one's soon.
func (d *Disks) Remove(number uint32) { d.own.Delete(number) }

// AddVolume adds a volume of the disks, which may not tell where it lies, such as one that is offline.
func (d *Disks) AddVolume(name string) { d.volumes.Store(strings.TrimSuffix(name, `\`), true) }

func (d *Disks) find(number uint32) (i Identity, own bool) {
	found, own := d.own.Load(number)
	i, _ = found.(Identity)
	return i, own
}

// Guard returns a kernel that refuses to change other disks and their volumes, by opening them to write, by the storage
// provider, or by a mount point.
func (d *Disks) Guard(k kernel.Kernel) kernel.Kernel { return guarded{k, d} }

type guarded struct {
	kernel.Kernel
	disks *Disks
}

// A foreignDisk is the reason why a call is refused. It has no Win32 code, on which the agent might try again.
type foreignDisk struct{ object string }

func (f foreignDisk) Error() string {
	return f.object + " is not of a disk that the test attached, and a test changes no other disk of a real node"
}

func (k guarded) OpenDevice(path string, access uint32) (kernel.Handle, error) {
	if access&win32.GENERIC_WRITE != 0 && path != kernel.MountManager {
		if err := k.check(path); err != nil {
			return nil, err
		}
	}
	h, err := k.Kernel.OpenDevice(path, access)
	if err != nil {
		return nil, err
	}
	return identified{h, k.disks}, nil
}

func (k guarded) FormatVolume(volumeName, fileSystem string) error {
	if err := k.check(strings.TrimSuffix(volumeName, `\`)); err != nil {
		return err
	}
	return k.Kernel.FormatVolume(volumeName, fileSystem)
}

func (k guarded) SetVolumeMountPoint(mountPoint, volumeName string) error {
	if err := k.check(strings.TrimSuffix(volumeName, `\`)); err != nil {
		return err
	}
	return k.Kernel.SetVolumeMountPoint(mountPoint, volumeName)
}

func (k guarded) ResizePartition(diskNumber uint32, offset, sizeBytes int64) error {
	if _, own := k.disks.find(diskNumber); !own {
		return foreignDisk{fmt.Sprintf("disk %d", diskNumber)}
	}
	return k.Kernel.ResizePartition(diskNumber, offset, sizeBytes)
}

func (k guarded) OnlinePartition(diskNumber uint32, offset int64) error {
	if _, own := k.disks.find(diskNumber); !own {
		return foreignDisk{fmt.Sprintf("disk %d", diskNumber)}
	}
	return k.Kernel.OnlinePartition(diskNumber, offset)
}

// check returns an error unless a device is a disk that the test attached, or lies on such disks alone.
func (k guarded) check(device string) error {
	h, err := k.Kernel.OpenDevice(device, 0)
	if err != nil {
		return err
	}
	defer h.Close()
	numbers, err := diskNumbers(h)
	if err != nil {
		if _, own := k.disks.volumes.Load(device); own {
			return nil
		}
		return errors.Join(foreignDisk{device}, err)
	}
	for _, number := range numbers {
		if _, own := k.disks.find(number); !own {
			return foreignDisk{device}
		}
	}
	return nil
}

// diskNumbers returns the numbers of the disks on which an open device lies, a disk or a volume.
func diskNumbers(h kernel.Handle) (numbers []uint32, err error) {
	out := make([]byte, 8+32*24)
	if n, err := h.DeviceIoControl(win32.IOCTL_STORAGE_GET_DEVICE_NUMBER, nil, out); err == nil {
		number, err := win32.ParseStorageDeviceNumber(out[:n])
		if err == nil && number.DeviceType != win32.FILE_DEVICE_DISK {
			err = errors.New("not a disk")
		}
		return []uint32{number.DeviceNumber}, err
	}
	n, err := h.DeviceIoControl(win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, nil, out) // of a volume on several disks
	if err != nil {
		return nil, err
	}
	extents, err := win32.ParseVolumeDiskExtents(out[:n])
	for _, e := range extents {
		numbers = append(numbers, e.DiskNumber)
	}
	return numbers, err
}

// identified is an open device that says of itself what the test chose.
type identified struct {
	kernel.Handle
	disks *Disks
}

func (h identified) DeviceIoControl(code uint32, in, out []byte) (n int, err error) {
	query, err := deviceside.ParseStoragePropertyQuery(in)
	if code != win32.IOCTL_STORAGE_QUERY_PROPERTY || err != nil || query.QueryType != win32.PropertyStandardQuery {
		return h.Handle.DeviceIoControl(code, in, out)
	}
	identity := Identity{}
	if numbers, err := diskNumbers(h.Handle); err == nil && len(numbers) == 1 {
		identity, _ = h.disks.find(numbers[0])
	}
	switch {
	case identity == Identity{}:
	case query.PropertyID == win32.StorageDeviceUniqueIdProperty: // both others in one: they are asked for apart
		return 0, win32.ERROR_NOT_SUPPORTED
	case query.PropertyID == win32.StorageDeviceIdProperty && identity.Page83 != "":
		return copy(out, deviceside.StorageDeviceID(win32.StorageDeviceID{Identifiers: []win32.StorageIdentifier{{
			CodeSet: win32.StorageIdCodeSetAscii, Type: deviceside.StorageIdTypeVendorId,
			Association: win32.StorageIdAssocDevice, Identifier: []byte(identity.Page83),
		}}})), nil
	case query.PropertyID == win32.StorageDeviceProperty && identity.SerialNumber != "":
		whole := make([]byte, 4096)
		n, err := h.Handle.DeviceIoControl(code, in, whole)
		if err != nil {
			return 0, err
		}
		device, err := win32.ParseStorageDevice(whole[:n])
		if err != nil {
			return 0, err
		}
		return copy(out, deviceside.StorageDevice{BusType: device.BusType, ProductID: device.ProductID,
			SerialNumber: identity.SerialNumber}.Bytes()), nil
	}
	return h.Handle.DeviceIoControl(code, in, out)
}

// SetAttribute sets or clears an attribute of a disk, DISK_ATTRIBUTE_OFFLINE or DISK_ATTRIBUTE_READ_ONLY.
func SetAttribute(k kernel.Kernel, number uint32, attribute uint64, is bool) error {
	h, err := k.OpenDevice(fmt.Sprintf(`\\.\PhysicalDrive%d`, number), win32.GENERIC_READ|win32.GENERIC_WRITE)
	if err != nil {
		return err
	}
	defer h.Close()
	request := win32.SetDiskAttributes{Version: 40, AttributesMask: attribute}
	if is {
		request.Attributes = attribute
	}
	_, err = h.DeviceIoControl(win32.IOCTL_DISK_SET_DISK_ATTRIBUTES, request.Bytes(), nil)
	if errors.Is(err, win32.ERROR_INVALID_PARAMETER) { // the pages say 40 and 16
		request.Version = 16
		_, err = h.DeviceIoControl(win32.IOCTL_DISK_SET_DISK_ATTRIBUTES, request.Bytes(), nil)
	}
	return err
}
