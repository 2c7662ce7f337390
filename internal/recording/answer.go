// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// free are the fields that a machine, its disks or the moment decide on, not what was asked.
var free = strings.Fields(`
	AllocationSize ChangeTime CreationTime LastAccessTime LastWriteTime EndOfFile FileIndex ID VolumeSerialNumber
	CheckPoint WaitHint ProcessID AdapterUnique AdapterSpecific
	VendorID ProductID ProductRevision SerialNumber DeviceTypeModifier CommandQueueing Identifier
	Cylinders TracksPerCylinder SectorsPerTrack DiskID CheckSum DeviceNumber DiskNumber
	PortNumber PathID TargetID LUN Free Total
	DiskSize Length UsableLength NumberSectors TotalClusters FreeClusters TotalReserved MftValidDataLength
	MftStartLCN Mft2StartLCN MftZoneStart MftZoneEnd`)

// A decoder reads an output.
type decoder func(out []byte) (any, error)

func as[T any](parse func([]byte) (T, error)) decoder {
	return func(out []byte) (any, error) { return parse(out) }
}

var (
	controls = map[uint32]decoder{
		win32.FSCTL_GET_NTFS_VOLUME_DATA:           as(win32.ParseNTFSVolumeData),
		win32.FSCTL_GET_REPARSE_POINT:              as(win32.ParseReparsePoint),
		win32.IOCTL_DISK_GET_DISK_ATTRIBUTES:       as(win32.ParseGetDiskAttributes),
		win32.IOCTL_DISK_GET_DRIVE_GEOMETRY_EX:     as(win32.ParseDiskGeometryEx),
		win32.IOCTL_DISK_GET_DRIVE_LAYOUT_EX:       as(win32.ParseDriveLayout),
		win32.IOCTL_DISK_GET_LENGTH_INFO:           as(win32.ParseLengthInformation),
		win32.IOCTL_DISK_UPDATE_DRIVE_SIZE:         as(win32.ParseDiskGeometry),
		win32.IOCTL_SCSI_GET_ADDRESS:               as(win32.ParseSCSIAddress),
		win32.IOCTL_STORAGE_GET_DEVICE_NUMBER:      as(win32.ParseStorageDeviceNumber),
		win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS: as(win32.ParseVolumeDiskExtents),
	}
	properties = map[uint32]decoder{
		win32.StorageDeviceProperty:   as(win32.ParseStorageDevice),
		win32.StorageAdapterProperty:  as(win32.ParseStorageAdapter),
		win32.StorageDeviceIdProperty: as(win32.ParseStorageDeviceID),
	}
	classes = map[uint32]decoder{
		win32.FileBasicInfo:                as(win32.ParseFileBasic),
		win32.FileStandardInfo:             as(win32.ParseFileStandard),
		win32.FileAttributeTagInfo:         as(win32.ParseFileAttributeTag),
		win32.FileIdInfo:                   as(win32.ParseFileID),
		win32.FileFullDirectoryInfo:        as(win32.ParseDirectoryEntries),
		win32.FileFullDirectoryRestartInfo: as(win32.ParseDirectoryEntries),
	}
)

// decoder returns how the call's output is read, nil if nothing reads it.
func (c *Call) decoder() decoder {
	switch c.Function {
	case "DeviceIoControl":
		if c.Code == win32.IOCTL_STORAGE_QUERY_PROPERTY {
			query, _ := win32.ParseStoragePropertyQuery(c.In)
			return properties[query.PropertyID]
		}
		return controls[c.Code]
	case "Information":
		return func(out []byte) (any, error) {
			const zeros = 64 // at the end, which a recording leaves out
			return classes[c.Code](slices.Concat(out, make([]byte, zeros)))
		}
	case "ISCSISessionList":
		return func(out []byte) (any, error) { return win32.ParseISCSISessionList(out, c.Base, c.Count) }
	case "DevicesForISCSISession":
		return func(out []byte) (any, error) { return win32.ParseISCSIDevices(out, c.Count) }
	case "ReportISCSITargetPortals":
		return func(out []byte) (any, error) { return win32.ParseISCSITargetPortals(out, c.Count) }
	case "ReportISCSISendTargetPortals":
		return func(out []byte) (any, error) { return win32.ParseISCSITargetPortalInfos(out, c.Count) }
	}
	return nil
}

// kind returns the function, with what tells its calls apart.
func (c *Call) kind() string {
	switch c.Function {
	case "DeviceIoControl":
		if c.Code == win32.IOCTL_STORAGE_QUERY_PROPERTY {
			query, _ := win32.ParseStoragePropertyQuery(c.In)
			return fmt.Sprintf("%s property %d", c.CodeName, query.PropertyID)
		}
		return c.CodeName
	case "Information", "SetInformation":
		return fmt.Sprintf("%s class %d", c.Function, c.Code)
	case "FinalPath":
		return fmt.Sprintf("FinalPath %d", c.Code)
	}
	return c.Function
}

// answer tells what the call answered, field by field.
func (c *Call) answer(tell func(field, value string)) {
	tell("call", "made")
	if c.Win32 != 0 || c.Error != "" {
		tell("error", strings.TrimSpace(fmt.Sprintf("%d %s", c.Win32, c.Error)))
	} else {
		tell("error", "none")
	}
	if c.Function == "ReadAt" {
		tell("zero", fmt.Sprint(c.Zero))
	}
	result := []byte(c.Result)
	if decode := c.decoder(); decode != nil && (c.Out != nil || c.Function == "Information") && c.Win32 == 0 {
		v, err := decode(c.Out)
		if err != nil {
			tell("bytes", err.Error())
			return
		}
		result = encoded(v)
	}
	var tree any
	d := json.NewDecoder(bytes.NewReader(result))
	d.UseNumber() // a float64 does not hold 64 bits
	if d.Decode(&tree) == nil {
		leaves("", tree, tell)
	}
}

// leaves tells the leaves of a value; elements of lists share a path.
func leaves(path string, v any, tell func(path, value string)) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if !slices.Contains(free, name) {
				leaves(strings.TrimPrefix(path+"."+name, "."), value, tell)
			}
		}
	case []any:
		for _, value := range v {
			leaves(path+"[]", value, tell)
		}
	case string:
		tell(path, plain(v))
	case nil:
	default:
		tell(path, fmt.Sprint(v))
	}
}
