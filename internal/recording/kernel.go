// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"slices"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// Record returns k with every call written to w, also those on the handles that it opens.
func Record(k kernel.Kernel, w *Writer) kernel.Kernel { return &recorded{k, w} }

type recorded struct {
	kernel kernel.Kernel
	w      *Writer
}

// Recorded returns the kernel whose calls are recorded.
func (k *recorded) Recorded() kernel.Kernel { return k.kernel }

// value makes a call that returns a value.
func value[T any](w *Writer, c *Call, f func() (T, error)) (v T, err error) {
	err = w.do(c, func() (err error) {
		if v, err = f(); hasResult(err) {
			c.returned(v)
		}
		return err
	})
	return v, err
}

// opened makes a call that returns a handle.
func (k *recorded) opened(c *Call, f func() (kernel.Handle, error)) (h kernel.Handle, err error) {
	err = k.w.do(c, func() (err error) {
		h, err = f()
		return err
	})
	if err != nil {
		return nil, err
	}
	return &handle{w: k.w, handle: h, number: c.Sequence, object: c.Object, device: c.Function == "OpenDevice"}, nil
}

func (k *recorded) DiskInterfaces() ([]string, error) {
	return value(k.w, &Call{Function: "DiskInterfaces"}, k.kernel.DiskInterfaces)
}

func (k *recorded) AdapterInterfaces() ([]string, error) {
	return value(k.w, &Call{Function: "AdapterInterfaces"}, k.kernel.AdapterInterfaces)
}

func (k *recorded) OpenDevice(path string, access uint32) (kernel.Handle, error) {
	return k.opened(&Call{Function: "OpenDevice", Object: path, Numbers: []int64{int64(access)}},
		func() (kernel.Handle, error) {
			return k.kernel.OpenDevice(path, access)
		})
}

func (k *recorded) ReenumerateDevices() error {
	return k.w.do(&Call{Function: "ReenumerateDevices"}, k.kernel.ReenumerateDevices)
}

func (k *recorded) WaitForDeviceInstalls(limit time.Duration) error {
	return k.w.do(&Call{Function: "WaitForDeviceInstalls", Numbers: []int64{int64(limit)}}, func() error {
		return k.kernel.WaitForDeviceInstalls(limit)
	})
}

func (k *recorded) UpdateStorageCache() error {
	return k.w.do(&Call{Function: "UpdateStorageCache"}, k.kernel.UpdateStorageCache)
}

func (k *recorded) ResizePartition(diskNumber uint32, offset, sizeBytes int64) error {
	return k.w.do(&Call{Function: "ResizePartition", Numbers: []int64{int64(diskNumber), offset, sizeBytes}},
		func() error {
			return k.kernel.ResizePartition(diskNumber, offset, sizeBytes)
		})
}

func (k *recorded) OpenFile(dir kernel.Handle, name string, how kernel.OpenHow) (kernel.Handle, error) {
	c := &Call{Function: "OpenFile", Object: name, How: &how}
	if d, ok := dir.(*handle); ok {
		dir = d.handle
		c.Object, c.Argument, c.Directory = kernel.ObjectIn(d.object, name), name, d.number
	}
	return k.opened(c, func() (kernel.Handle, error) { return k.kernel.OpenFile(dir, name, how) })
}

func (k *recorded) SystemWindowsDirectory() (string, error) {
	return value(k.w, &Call{Function: "SystemWindowsDirectory"}, k.kernel.SystemWindowsDirectory)
}

func (k *recorded) VolumeNames() ([]string, error) {
	return value(k.w, &Call{Function: "VolumeNames"}, k.kernel.VolumeNames)
}

func (k *recorded) VolumePathNames(volumeName string) ([]string, error) {
	return value(k.w, &Call{Function: "VolumePathNames", Object: volumeName}, func() ([]string, error) {
		return k.kernel.VolumePathNames(volumeName)
	})
}

func (k *recorded) VolumeNameForMountPoint(mountPoint string) (string, error) {
	return value(k.w, &Call{Function: "VolumeNameForMountPoint", Object: mountPoint}, func() (string, error) {
		return k.kernel.VolumeNameForMountPoint(mountPoint)
	})
}

func (k *recorded) SetVolumeMountPoint(mountPoint, volumeName string) error {
	return k.w.do(&Call{Function: "SetVolumeMountPoint", Object: mountPoint, Argument: volumeName}, func() error {
		return k.kernel.SetVolumeMountPoint(mountPoint, volumeName)
	})
}

func (k *recorded) DeleteVolumeMountPoint(mountPoint string) error {
	return k.w.do(&Call{Function: "DeleteVolumeMountPoint", Object: mountPoint}, func() error {
		return k.kernel.DeleteVolumeMountPoint(mountPoint)
	})
}

func (k *recorded) VolumeInformation(root string) (string, error) {
	return value(k.w, &Call{Function: "VolumeInformation", Object: root},
		func() (string, error) { return k.kernel.VolumeInformation(root) })
}

// Space is the Result of DiskFreeSpace, in bytes.
type Space struct {
	Total uint64 `json:"total"`
	Free  uint64 `json:"free"`
}

func (k *recorded) DiskFreeSpace(root string) (uint64, uint64, error) {
	space, err := value(k.w, &Call{Function: "DiskFreeSpace", Object: root}, func() (s Space, err error) {
		s.Total, s.Free, err = k.kernel.DiskFreeSpace(root)
		return s, err
	})
	return space.Total, space.Free, err
}

func (k *recorded) FormatVolume(volumeName, fileSystem string) error {
	return k.w.do(&Call{Function: "FormatVolume", Object: volumeName, Argument: fileSystem}, func() error {
		return k.kernel.FormatVolume(volumeName, fileSystem)
	})
}

func (k *recorded) QueryService(name string) (kernel.Service, error) {
	return value(k.w, &Call{Function: "QueryService", Object: name},
		func() (kernel.Service, error) { return k.kernel.QueryService(name) })
}

func (k *recorded) StartService(name string) error {
	return k.w.do(&Call{Function: "StartService", Object: name}, func() error { return k.kernel.StartService(name) })
}

func (k *recorded) StopService(name string) error {
	return k.w.do(&Call{Function: "StopService", Object: name}, func() error { return k.kernel.StopService(name) })
}

func (k *recorded) DependentServices(name string) ([]string, error) {
	return value(k.w, &Call{Function: "DependentServices", Object: name},
		func() ([]string, error) { return k.kernel.DependentServices(name) })
}

func (k *recorded) SystemFirmwareTable(provider, id uint32) (table []byte, err error) {
	c := &Call{Function: "SystemFirmwareTable", Code: provider, Numbers: []int64{int64(id)}}
	err = k.w.do(c, func() (err error) {
		if table, err = k.kernel.SystemFirmwareTable(provider, id); err == nil {
			c.keep(systemOnly(table))
		}
		return err
	})
	return table, err
}

// systemOnly returns an SMBIOS table with nothing but what is asked of it, the system's structure, and that without its
// UUID: the rest has the serial numbers of all that is in a machine.
func systemOnly(table []byte) []byte {
	smbios, err := win32.ParseSMBIOS(slices.Clone(table))
	if err != nil {
		return nil
	}
	const system, uuid, sizeofUUID = 1, 4, 16 // the offset is that after the header
	smbios.Structures = slices.DeleteFunc(smbios.Structures,
		func(s win32.SMBIOSStructure) bool { return s.Type != system })
	for _, s := range smbios.Structures {
		if len(s.Data) > uuid {
			clear(s.Data[uuid:min(len(s.Data), uuid+sizeofUUID)])
		}
	}
	return smbios.Bytes()
}

func (k *recorded) RegistryStrings(key, name string) ([]string, error) {
	return value(k.w, &Call{Function: "RegistryStrings", Object: key, Argument: name}, func() ([]string, error) {
		return k.kernel.RegistryStrings(key, name)
	})
}

func (k *recorded) EnablePrivilege(name string) error {
	return k.w.do(&Call{Function: "EnablePrivilege", Object: name}, func() error { return k.kernel.EnablePrivilege(name) })
}
