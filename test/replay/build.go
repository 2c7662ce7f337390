// SPDX-License-Identifier: Apache-2.0

package replay

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/recording"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// Sizes of disks of which the recording shows none.
const (
	systemSize = 64 << 30
	otherSize  = 10 << 30
)

// The account of the replay: recordings have none.
const (
	user     = "replay"
	password = "replay-password"
)

// scenario returns the node in the situation. Disks that come later are attached when they come.
func (s *situation) scenario(systemNumber uint32, later func(*recordedDisk) bool) emulated.Scenario {
	scenario := emulated.Scenario{
		Switches: s.switches, SystemSerial: s.serial, SystemDisk: emulated.DiskSpec{SizeBytes: systemSize, Adapter: 255},
		PageFiles: s.pageFiles, Services: s.services,
		SMBUsers: []emulated.SMBUserSpec{{Name: user, Password: password}},
	}
	if len(s.dump) > 0 {
		scenario.DumpFile = s.dump[0]
	}
	for _, d := range s.disks {
		switch {
		case d.number == systemNumber:
			scenario.SystemDisk = d.spec
			scenario.SystemDisk.LUNAuto, scenario.SystemDisk.Offline, scenario.SystemDisk.ReadOnly = false, false, false
			if d.spec.SizeBytes < 1<<30 { // not known, or too small for the node's own
				scenario.SystemDisk.SizeBytes = systemSize
			}
		case !later(d):
			scenario.Disks = append(scenario.Disks, d.made())
		}
	}
	servers := map[string]int{}
	for _, share := range s.shares {
		server, name, _ := strings.Cut(strings.TrimPrefix(share, `\\`), `\`)
		at, known := servers[server]
		if !known {
			at = len(scenario.SMBServers)
			servers[server] = at
			scenario.SMBServers = append(scenario.SMBServers, emulated.SMBServerSpec{Name: server})
		}
		scenario.SMBServers[at].Shares = append(scenario.SMBServers[at].Shares, emulated.SMBShareSpec{Name: name})
	}
	return scenario
}

// made returns the disk as it is made; one of unknown size gets one.
func (d *recordedDisk) made() emulated.DiskSpec {
	spec := d.spec
	if spec.SizeBytes == 0 {
		spec.SizeBytes = otherSize
	}
	return spec
}

// systemNumber returns the number of the disk that holds drive C.
func (s *situation) systemNumber() uint32 {
	if at, ok := s.volumes[s.systemC]; ok {
		return at.DiskNumber
	}
	return 0
}

// identify pairs the disk of a number with the recorded one.
func (r *replay) identify(d *recordedDisk, number uint32) error {
	r.numbers[d.number] = number
	r.names.pair(fmt.Sprintf("physicaldrive%d", d.number), fmt.Sprintf("physicaldrive%d", number))
	paths, err := r.node.DiskInterfaces()
	if err != nil || d.path == "" {
		return err
	}
	for _, path := range paths {
		if at, err := deviceNumber(r.node, path); err != nil {
			return err
		} else if at == number {
			r.names.pair(d.path, path)
		}
	}
	return nil
}

func deviceNumber(k kernel.Kernel, path string) (uint32, error) {
	h, err := k.OpenDevice(path, 0)
	if err != nil {
		return 0, err
	}
	defer h.Close()
	out := make([]byte, 12)
	n, err := h.DeviceIoControl(win32.IOCTL_STORAGE_GET_DEVICE_NUMBER, nil, out)
	if err != nil {
		return 0, err
	}
	device, err := win32.ParseStorageDeviceNumber(out[:n])
	return device.DeviceNumber, err
}

// lay gives a disk the partitions that it had when the recording saw it first.
func (r *replay) lay(d *recordedDisk) error {
	if d.layout == nil || d.layout.Style == win32.PARTITION_STYLE_RAW || d.number == r.system {
		return nil
	}
	number := r.numbers[d.number]
	if err := r.node.SetDiskReadOnly(number, false); err != nil {
		return err
	}
	if err := r.node.SetDiskOnline(number, true); err != nil {
		return err
	}
	h, err := r.node.OpenDevice(fmt.Sprintf(`\\.\PhysicalDrive%d`, number), win32.GENERIC_READ|win32.GENERIC_WRITE)
	if err != nil {
		return err
	}
	defer h.Close()
	create := win32.CreateDisk{Style: d.layout.Style, DiskID: d.layout.DiskID,
		MaxPartitionCount: max(128, d.layout.MaxPartitionCount), Signature: d.layout.Signature}
	if _, err := h.DeviceIoControl(win32.IOCTL_DISK_CREATE_DISK, create.Bytes(), nil); err != nil {
		return err
	}
	if _, err := h.DeviceIoControl(win32.IOCTL_DISK_SET_DRIVE_LAYOUT_EX, d.layout.Bytes(), nil); err != nil {
		return err
	}
	for name, at := range r.situation.volumes {
		if at.DiskNumber != d.number || !r.situation.formats[name] {
			continue
		}
		volume, err := r.volumeAt(number, at.StartingOffset)
		if err == nil && volume != "" {
			err = r.node.FormatVolume(volume, "NTFS")
		}
		if err != nil {
			return err
		}
	}
	if err := r.node.SetDiskOnline(number, !d.spec.Offline); err != nil {
		return err
	}
	return r.node.SetDiskReadOnly(number, d.spec.ReadOnly)
}

// volumeAt returns the node's volume that begins on a disk at an offset, "" if there is none.
func (r *replay) volumeAt(disk uint32, offset int64) (string, error) {
	names, err := r.node.VolumeNames()
	if err != nil {
		return "", err
	}
	for _, name := range names {
		h, err := r.node.OpenDevice(strings.TrimSuffix(name, `\`), 0)
		if err != nil {
			return "", err
		}
		out := make([]byte, win32.SizeofVolumeDiskExtents(1))
		n, err := h.DeviceIoControl(win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, nil, out)
		_ = h.Close()
		if err != nil {
			return "", err
		}
		extents, err := win32.ParseVolumeDiskExtents(out[:n])
		if err != nil {
			return "", err
		}
		if extents[0].DiskNumber == disk && extents[0].StartingOffset == offset {
			return name, nil
		}
	}
	return "", nil
}

// findVolumes pairs the volumes of a text with those of the node, if the recording shows where they lie.
func (r *replay) findVolumes(text string) error {
	name, unknown := r.names.unknownVolume(text)
	at, placed := r.situation.volumes[name]
	number, known := r.numbers[at.DiskNumber]
	if !unknown || !placed || !known || at.DiskNumber == r.system {
		return nil
	}
	volume, err := r.volumeAt(number, at.StartingOffset)
	if volume != "" {
		r.names.pair(name, volumeIn.FindString(volume))
	}
	return err
}

// change puts the disks into the situation of a call: what came, went or grew was somebody else's doing.
func (r *replay) change(i int, c *recording.Call) error {
	listed := map[string]bool{}
	if c.Function == "DiskInterfaces" {
		for _, path := range texts(c) {
			listed[strings.ToLower(path)] = true
		}
	}
	for _, d := range r.situation.disks {
		_, there := r.numbers[d.number]
		var err error
		switch opened := c.Function == "OpenDevice" && c.Succeeded() && r.onDisk(c, d); {
		case !there && (opened || listed[d.path]):
			err = r.attach(d)
		case there && len(listed) > 0 && d.path != "" && d.number != r.system && !listed[d.path]:
			err = r.detach(d)
		}
		if err != nil {
			return fmt.Errorf("disk %d: %w", d.number, err)
		}
	}
	return r.grow(i)
}

func (r *replay) attach(d *recordedDisk) error {
	spec := d.made()
	spec.ImagePath = r.pulled[d.number]
	if spec.ImagePath != "" {
		spec.SizeBytes = 0 // the image's
	}
	number, err := r.node.AttachDisk(spec)
	if err != nil {
		return err
	}
	if err := r.identify(d, number); err != nil || spec.ImagePath != "" {
		return err
	}
	return r.lay(d)
}

func (r *replay) detach(d *recordedDisk) (err error) {
	number := r.numbers[d.number]
	delete(r.numbers, d.number)
	r.names.forget(fmt.Sprintf("physicaldrive%d", d.number))
	r.names.forget(d.path)
	r.pulled[d.number], err = r.node.DetachDisk(number)
	return err
}

// grow makes disks larger that somebody made larger.
func (r *replay) grow(i int) error {
	for _, d := range r.situation.disks {
		number, there := r.numbers[d.number]
		if size := d.grows(i, int64(d.spec.SizeBytes)); there && d.number != r.system && size > 0 {
			d.spec.SizeBytes = emulated.Size(size)
			return r.node.GrowDisk(number, size)
		}
	}
	return nil
}

func (r *replay) onDisk(c *recording.Call, d *recordedDisk) bool {
	return strings.EqualFold(c.Object, d.path) || strings.EqualFold(c.Object, fmt.Sprintf(`\\.\PhysicalDrive%d`, d.number))
}

func service(result []byte) (s kernel.Service) {
	_ = json.Unmarshal(result, &s)
	return s
}
