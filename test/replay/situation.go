// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/recording"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// situation is what a recording shows of the machine as it was, or of what somebody other than its caller did to it.
type situation struct {
	disks    []*recordedDisk
	volumes  map[string]win32.DiskExtent // where volumes lie, by name as names has it
	systemC  string                      // the volume of drive C
	formats  map[string]bool             // volumes that had a file system before any call could have made one
	services []emulated.ServiceSpec
	switches emulated.Switches

	serial          string
	pageFiles, dump []string
	shares          []string // that were mapped
}

// recordedDisk is a disk of the recorded machine.
type recordedDisk struct {
	number uint32
	path   string // its device interface; empty: none was seen
	first  int    // the call that is the first to show it
	spec   emulated.DiskSpec
	layout *win32.DriveLayout // as it was first seen; nil: never

	sizes          []sizeAt
	attributesSeen bool
}

// situate reads the situation from a recording.
func situate(calls []recording.Call) *situation {
	s := &situation{
		volumes: map[string]win32.DiskExtent{}, formats: map[string]bool{}, switches: emulated.DefaultSwitches(),
		serial: "none", // the node has one; which, no recording without a firmware table shows
	}
	paths := map[string]uint32{}
	for _, c := range calls {
		if c.Code == win32.IOCTL_STORAGE_GET_DEVICE_NUMBER && volumeIn.FindString(c.Object) == "" {
			if d, err := win32.ParseStorageDeviceNumber(c.Out); err == nil && d.DeviceType == win32.FILE_DEVICE_DISK {
				paths[strings.ToLower(c.Object)] = d.DeviceNumber
			}
		}
	}
	for i := range calls {
		if c := &calls[i]; c.Succeeded() {
			s.disk(i, c, paths)
			s.volume(c)
			s.system(c)
		} else {
			s.refusal(c)
		}
	}
	if s.systemC != "" {
		s.formats[s.systemC] = true
	}
	slices.SortFunc(s.disks, func(a, b *recordedDisk) int { return int(a.number) - int(b.number) })
	return s
}

// disk learns of disks from a call.
func (s *situation) disk(i int, c *recording.Call, paths map[string]uint32) {
	if c.Function == "DiskInterfaces" {
		for _, path := range texts(c) {
			if number, ok := paths[strings.ToLower(path)]; ok {
				s.diskAt(i, number).path = strings.ToLower(path)
			}
		}
		return
	}
	number, ok := paths[strings.ToLower(c.Object)]
	if drive := driveIn.FindString(c.Object); drive != "" {
		_, err := fmt.Sscanf(strings.ToLower(drive), "physicaldrive%d", &number)
		ok = err == nil
	}
	if !ok {
		return
	}
	d := s.diskAt(i, number)
	switch c.Code {
	case win32.IOCTL_DISK_GET_LENGTH_INFO:
		if length, err := win32.ParseLengthInformation(c.Out); err == nil {
			d.sized(i, length.Length)
		}
	case win32.IOCTL_DISK_GET_DRIVE_GEOMETRY_EX:
		if g, err := win32.ParseDiskGeometryEx(c.Out); err == nil {
			d.spec.SectorSize = g.BytesPerSector
			d.sized(i, g.DiskSize)
		}
	case win32.IOCTL_SCSI_GET_ADDRESS:
		if a, err := win32.ParseSCSIAddress(c.Out); err == nil {
			d.spec.Adapter, d.spec.Bus, d.spec.Target, d.spec.LUN = a.PortNumber, a.PathID, a.TargetID, a.LUN
			d.spec.LUNAuto = false
		}
	case win32.IOCTL_DISK_GET_DISK_ATTRIBUTES:
		if a, err := win32.ParseGetDiskAttributes(c.Out); err == nil && !d.attributesSeen {
			d.spec.Offline = a.Attributes&win32.DISK_ATTRIBUTE_OFFLINE != 0
			d.spec.ReadOnly = a.Attributes&win32.DISK_ATTRIBUTE_READ_ONLY != 0
			d.attributesSeen = true
		}
	case win32.IOCTL_DISK_GET_DRIVE_LAYOUT_EX:
		if l, err := win32.ParseDriveLayout(c.Out); err == nil {
			if d.layout == nil {
				d.layout = &l
			}
			if l.Style == win32.PARTITION_STYLE_GPT && l.MaxPartitionCount == 128 {
				d.sized(i, l.StartingUsableOffset+l.UsableLength+d.backupTable())
			}
		}
	case win32.IOCTL_DISK_UPDATE_DRIVE_SIZE:
		d.sized(i, 0)
	case win32.IOCTL_STORAGE_QUERY_PROPERTY:
		d.property(c)
	}
}

func (s *situation) diskAt(i int, number uint32) *recordedDisk {
	at := slices.IndexFunc(s.disks, func(d *recordedDisk) bool { return d.number == number })
	if at < 0 {
		s.disks = append(s.disks, &recordedDisk{number: number, first: i, spec: emulated.DiskSpec{LUNAuto: true}})
		at = len(s.disks) - 1
	}
	return s.disks[at]
}

// sizeAt is a size that a call shows; 0: the disk's driver looked for a new one.
type sizeAt struct {
	call  int
	bytes int64
}

// sized notes a size. The first is that which the disk had from the start.
func (d *recordedDisk) sized(call int, bytes int64) {
	if d.spec.SizeBytes == 0 {
		d.spec.SizeBytes = emulated.Size(bytes)
	}
	d.sizes = append(d.sizes, sizeAt{call, bytes})
}

// backupTable returns the bytes after the last usable one: 128 entries of 128 bytes and a header in a sector of its
// own.
func (d *recordedDisk) backupTable() int64 { return 128*128 + max(512, int64(d.spec.SectorSize)) }

// grows returns the size that the disk had got when a call was made, 0 if it had not grown since before. It grows
// before its driver looks for a new size, if that is followed by a call that shows one.
func (d *recordedDisk) grows(call int, now int64) int64 {
	for i, s := range d.sizes {
		if s.call != call {
			continue
		}
		for _, later := range d.sizes[i:] {
			switch {
			case later.bytes > now:
				return later.bytes
			case later.bytes == now && later.bytes != 0:
				return 0
			}
		}
	}
	return 0
}

func (d *recordedDisk) property(c *recording.Call) {
	query, err := win32.ParseStoragePropertyQuery(c.In)
	if err != nil {
		return
	}
	device, id := []byte(nil), []byte(nil)
	switch query.PropertyID {
	case win32.StorageDeviceProperty:
		device = c.Out
	case win32.StorageDeviceIdProperty:
		id = c.Out
	case win32.StorageDeviceUniqueIdProperty:
		if u, err := win32.ParseStorageUniqueID(c.Out); err == nil {
			device, id = u.Device, u.DeviceID
		}
	}
	if known, err := win32.ParseStorageDevice(device); err == nil {
		d.spec.SerialNumber, d.spec.BusType = known.SerialNumber, emulated.BusType(known.BusType)
	}
	if known, err := win32.ParseStorageDeviceID(id); err == nil {
		d.spec.Identifiers = known.Identifiers
	}
}

// volume learns of volumes from a call.
func (s *situation) volume(c *recording.Call) {
	name := strings.ToLower(volumeIn.FindString(c.Object))
	switch c.Function {
	case "DeviceIoControl":
		if extents, err := win32.ParseVolumeDiskExtents(c.Out); err == nil &&
			c.Code == win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS && name != "" && len(extents) == 1 {
			s.volumes[name] = extents[0]
		}
	case "VolumeNameForMountPoint":
		if isDriveC(c.Object) {
			s.systemC = strings.ToLower(volumeIn.FindString(text(c)))
		}
	case "VolumePathNames":
		if slices.ContainsFunc(texts(c), isDriveC) && name != "" {
			s.systemC = name
		}
	case "FormatVolume":
		if _, known := s.formats[name]; !known {
			s.formats[name] = false
		}
	case "VolumeInformation":
		if _, known := s.formats[name]; !known && name != "" {
			s.formats[name] = true
		}
	}
}

func isDriveC(path string) bool {
	return strings.EqualFold(strings.TrimPrefix(path, `\\?\`), `C:\`)
}

// system learns of the rest of the machine from a call.
func (s *situation) system(c *recording.Call) {
	switch c.Function {
	case "OpenFile":
		if c.How.NoReparse && strings.HasPrefix(c.Object, `\\?\`) && c.Directory == 0 {
			s.switches.LinksRefused = emulated.LinksRefusedNever
		}
	case "QueryService":
		var q kernel.Service
		known := func(spec emulated.ServiceSpec) bool { return strings.EqualFold(spec.Name, c.Object) }
		if json.Unmarshal(c.Result, &q) == nil && !slices.ContainsFunc(s.services, known) {
			s.services = append(s.services, emulated.ServiceSpec{
				Name: c.Object, DisplayName: q.DisplayName, StartType: q.StartType, Dependencies: q.Dependencies,
				Running: q.State == win32.SERVICE_RUNNING, Unstoppable: q.State == win32.SERVICE_RUNNING &&
					q.Accepted&win32.SERVICE_ACCEPT_STOP == 0,
			})
		}
	case "SystemFirmwareTable":
		if table, err := win32.ParseSMBIOS(c.Out); err == nil {
			s.serial = table.SystemSerialNumber()
		}
	case "RegistryStrings":
		switch strings.ToLower(c.Argument) {
		case "existingpagefiles":
			for _, file := range texts(c) {
				s.pageFiles = append(s.pageFiles, strings.TrimPrefix(file, `\??\`))
			}
		case "dedicateddumpfile":
			s.dump = texts(c)
		case "systempartition":
			s.switches.SystemPartitionUnknown = len(texts(c)) == 0
		}
	case "CreateSMBGlobalMapping":
		if !slices.Contains(s.shares, strings.ToLower(c.Object)) {
			s.shares = append(s.shares, strings.ToLower(c.Object))
		}
	}
}

// refusal learns from a call that failed. What is a question about Windows is answered by the recording.
func (s *situation) refusal(c *recording.Call) {
	code := win32.Errno(c.Win32)
	switch {
	case c.Function == "EnablePrivilege" && code == win32.ERROR_NOT_ALL_ASSIGNED:
		if lacks := s.switches.LacksPrivileges; lacks == "" || lacks == "none" {
			s.switches.LacksPrivileges = c.Object
		} else {
			s.switches.LacksPrivileges += "," + c.Object
		}
	case c.Code == win32.IOCTL_DISK_SET_DISK_ATTRIBUTES && code == win32.ERROR_INVALID_PARAMETER:
		if a, err := win32.ParseSetDiskAttributes(c.In); err == nil && a.Version == 40 {
			s.switches.AttributesVersion = 16
		}
	case c.Code == win32.IOCTL_STORAGE_QUERY_PROPERTY &&
		(code == win32.ERROR_INVALID_FUNCTION || code == win32.ERROR_NOT_SUPPORTED):
		if q, err := win32.ParseStoragePropertyQuery(c.In); err == nil &&
			q.PropertyID == win32.StorageDeviceUniqueIdProperty {
			s.switches.IdentifiersApart = true
		}
	}
}

// texts and text return a result.
func texts(c *recording.Call) (all []string) {
	_ = json.Unmarshal(c.Result, &all) // none, if it is something else
	return all
}

func text(c *recording.Call) (one string) {
	_ = json.Unmarshal(c.Result, &one)
	return one
}
