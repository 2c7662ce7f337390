// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/recording"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// compareControl compares the output of a control code, decoded.
func (r *replay) compareControl(kind string, c *recording.Call, a answer) []Difference {
	parse := r.decoder(c)
	if parse == nil {
		return different(kind, map[string]string{"bytes": fmt.Sprint(c.Count)}, map[string]string{"bytes": fmt.Sprint(a.n)})
	}
	return different(kind, parse(c.Out, true), parse(a.out, false))
}

// decoder returns how an output is read; nil: it has none. What is free is left out: ids, and on the system disk sizes
// and places, which are the machine's own.
func (r *replay) decoder(c *recording.Call) func(out []byte, recorded bool) map[string]string {
	foreign := r.foreign(c)
	free := func(always []string, onSystem ...string) []string {
		if foreign {
			return append(always, onSystem...)
		}
		return always
	}
	switch c.Code {
	case win32.IOCTL_STORAGE_GET_DEVICE_NUMBER:
		return func(out []byte, recorded bool) map[string]string {
			d, err := win32.ParseStorageDeviceNumber(out)
			if number, ok := r.numbers[d.DeviceNumber]; ok && recorded {
				d.DeviceNumber = number
			}
			return decoded(d, err, free(nil, "PartitionNumber")...)
		}
	case win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS:
		return func(out []byte, recorded bool) map[string]string {
			if win32.Errno(c.Win32) == win32.ERROR_MORE_DATA {
				n, err := win32.VolumeDiskExtentsCount(out)
				return decoded(n, err)
			}
			all, err := win32.ParseVolumeDiskExtents(out)
			for i := range all {
				if number, ok := r.numbers[all[i].DiskNumber]; ok && recorded {
					all[i].DiskNumber = number
				}
			}
			return decoded(all, err, free(nil, ".*.StartingOffset", ".*.Length")...)
		}
	case win32.IOCTL_STORAGE_QUERY_PROPERTY:
		return r.property(c)
	case win32.FSCTL_GET_REPARSE_POINT:
		return func(out []byte, recorded bool) map[string]string {
			p, err := win32.ParseReparsePoint(out)
			if recorded {
				p.SubstituteName, p.PrintName = r.names.translate(p.SubstituteName), r.names.translate(p.PrintName)
			}
			p.SubstituteName, p.PrintName = strings.ToLower(p.SubstituteName), strings.ToLower(p.PrintName)
			return decoded(p, err)
		}
	case win32.IOCTL_DISK_GET_DRIVE_LAYOUT_EX:
		return plain(win32.ParseDriveLayout, free([]string{
			"DiskID", "Partitions.*.ID", "CheckSum",
		}, "Style", "StartingUsableOffset", "UsableLength", "MaxPartitionCount", "Signature",
			"Partitions.*.Style", "Partitions.*.Number",
			"Partitions.*.StartingOffset", "Partitions.*.Length", "Partitions.*.Type",
			"Partitions.*.Attributes", "Partitions.*.Name",
			"Partitions.*.MBRType", "Partitions.*.Boot", "Partitions.*.Recognized", "Partitions.*.HiddenSectors",
			"Partitions.*.Rewrite")...)
	case win32.IOCTL_DISK_GET_LENGTH_INFO:
		return plain(win32.ParseLengthInformation, free(nil, "Length")...)
	case win32.IOCTL_DISK_GET_DRIVE_GEOMETRY_EX: // cylinders, tracks and heads are made up by every driver
		return plain(win32.ParseDiskGeometryEx,
			free([]string{"Cylinders", "TracksPerCylinder", "SectorsPerTrack"}, "DiskSize")...)
	case win32.IOCTL_DISK_UPDATE_DRIVE_SIZE:
		return plain(win32.ParseDiskGeometry, "Cylinders", "TracksPerCylinder", "SectorsPerTrack")
	case win32.IOCTL_DISK_GET_DISK_ATTRIBUTES:
		return plain(win32.ParseGetDiskAttributes)
	case win32.IOCTL_SCSI_GET_ADDRESS:
		return plain(win32.ParseSCSIAddress, free(nil, "PortNumber", "PathID", "TargetID", "LUN")...)
	case win32.FSCTL_GET_NTFS_VOLUME_DATA:
		return plain(win32.ParseNTFSVolumeData, "SerialNumber", "FreeClusters", "TotalReserved",
			"MftValidDataLength", "MftStartLCN",
			"Mft2StartLCN", "MftZoneStart", "MftZoneEnd", "NumberSectors", "TotalClusters")
	}
	return nil
}

// property is decoder for IOCTL_STORAGE_QUERY_PROPERTY.
func (r *replay) property(c *recording.Call) func(out []byte, recorded bool) map[string]string {
	query, err := win32.ParseStoragePropertyQuery(c.In)
	if err != nil {
		return nil
	}
	const header = 8
	if c.Room <= header { // the size of a descriptor depends on the names in it
		return func(out []byte, _ bool) map[string]string { return map[string]string{"bytes": fmt.Sprint(len(out))} }
	}
	names := []string{"VendorID", "ProductID", "ProductRevision", "DeviceTypeModifier", "CommandQueueing"} // the maker's
	switch query.PropertyID {
	case win32.StorageDeviceProperty:
		return plain(win32.ParseStorageDevice, names...)
	case win32.StorageAdapterProperty:
		return plain(win32.ParseStorageAdapter)
	case win32.StorageDeviceIdProperty:
		return plain(win32.ParseStorageDeviceID)
	case win32.StorageDeviceUniqueIdProperty:
		return func(out []byte, _ bool) map[string]string {
			u, err := win32.ParseStorageUniqueID(out)
			all := decoded(u.DeviceID != nil, err)
			if d, err := win32.ParseStorageDevice(u.Device); u.Device != nil {
				for path, value := range decoded(d, err, names...) {
					all["Device."+path] = value
				}
			}
			if d, err := win32.ParseStorageDeviceID(u.DeviceID); u.DeviceID != nil {
				for path, value := range decoded(d, err) {
					all["DeviceID."+path] = value
				}
			}
			return all
		}
	}
	return nil
}

func plain[T any](parse func([]byte) (T, error), free ...string) func([]byte, bool) map[string]string {
	return func(out []byte, _ bool) map[string]string {
		v, err := parse(out)
		return decoded(v, err, free...)
	}
}

func decoded(v any, err error, free ...string) map[string]string {
	if err != nil {
		return map[string]string{"bytes": err.Error()}
	}
	return fields(v, free...)
}

// ownAttributes are those that an administrator or a backup decides on, not the file system.
// FILE_ATTRIBUTE_NOT_CONTENT_INDEXED
const ownAttributes = win32.FILE_ATTRIBUTE_ARCHIVE | win32.FILE_ATTRIBUTE_NORMAL | 0x2000

// compareInformation compares an information class, decoded.
func (r *replay) compareInformation(kind string, c *recording.Call, a answer) []Difference {
	theirs, ours := room(c, 0), a.out
	switch c.Code {
	case win32.FileStandardInfo:
		parse := plain(win32.ParseFileStandard, "AllocationSize")
		return different(kind, parse(theirs, true), parse(ours, false))
	case win32.FileBasicInfo:
		parse := plain(func(b []byte) (win32.FileBasic, error) {
			f, err := win32.ParseFileBasic(b)
			f.Attributes &^= ownAttributes
			return f, err
		}, "CreationTime", "LastAccessTime", "LastWriteTime", "ChangeTime")
		return different(kind, parse(theirs, true), parse(ours, false))
	case win32.FileAttributeTagInfo:
		parse := plain(func(b []byte) (win32.FileAttributeTag, error) {
			f, err := win32.ParseFileAttributeTag(b)
			f.Attributes &^= ownAttributes
			return f, err
		})
		return different(kind, parse(theirs, true), parse(ours, false))
	case win32.FileIdInfo:
		recorded, err1 := win32.ParseFileID(theirs)
		emulated, err2 := win32.ParseFileID(ours)
		if err1 != nil || err2 != nil || !r.names.pair(fmt.Sprintf("file %v", recorded), fmt.Sprintf("file %v", emulated)) {
			return []Difference{{kind, "id", "that of a file", "that of another"}}
		}
		return nil
	case win32.FileFullDirectoryInfo, win32.FileFullDirectoryRestartInfo:
		return compareListing(kind, theirs, ours)
	}
	return []Difference{{kind, "class", "known", "unknown to the replay"}}
}

// compareListing compares the entries of a directory: those that a call returns, what they are, and their order.
func compareListing(kind string, theirs, ours []byte) (found []Difference) {
	recorded, err1 := win32.ParseDirectoryEntries(theirs)
	emulated, err2 := win32.ParseDirectoryEntries(ours)
	if err1 != nil || err2 != nil {
		return []Difference{{kind, "entries", fmt.Sprint(err1), fmt.Sprint(err2)}}
	}
	names := func(entries []win32.DirectoryEntry) (all []string) {
		for _, e := range entries {
			all = append(all, e.Name)
		}
		return all
	}
	a, b := names(recorded), names(emulated)
	sortedA, sortedB := slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b))
	switch {
	case !slices.Equal(sortedA, sortedB):
		return []Difference{{kind, "names", "some", "others"}}
	case !slices.Equal(a, b):
		found = append(found, Difference{kind, "order", "another", "by name"})
	}
	by := map[string]win32.DirectoryEntry{}
	for _, e := range emulated {
		by[e.Name] = e
	}
	for _, e := range recorded {
		o := by[e.Name]
		e.Attributes, o.Attributes = e.Attributes&^ownAttributes, o.Attributes&^ownAttributes
		free := []string{"Name", "AllocationSize", "CreationTime", "LastAccessTime", "LastWriteTime",
			"ChangeTime", "FileIndex"}
		found = append(found, different(kind, fields(e, free...), fields(o, free...))...)
	}
	return found
}

func marshal(v any) []byte {
	b, _ := json.Marshal(v) //nolint:errchkjson // strings and numbers
	return b
}
