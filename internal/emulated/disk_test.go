// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ondisk"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
)

// ask sends a control code without input and returns the output.
func ask(t *testing.T, h kernel.Handle, code uint32, in []byte) []byte {
	t.Helper()
	out := make([]byte, 20000)
	n, err := h.DeviceIoControl(code, in, out)
	must(t, err)
	return out[:n]
}

func TestOpenDeviceCodes(t *testing.T) {
	n := newNode(t, nil)
	c := n.disks.volumes()[1].name()
	for path, want := range map[string]win32.Errno{
		`\\.\physicaldrive0`:            0,
		`\\.\PhysicalDrive7`:            win32.ERROR_FILE_NOT_FOUND,
		`\\.\PhysicalDrive`:             win32.ERROR_FILE_NOT_FOUND,
		`\\.\PhysicalDrive-1`:           win32.ERROR_FILE_NOT_FOUND,
		n.disks[1].path:                 0,
		n.adapters()[0].interfacePath(): 0,
		c[:len(c)-1]:                    0,
		`\\?\VOLUME` + c[10:len(c)-1]:   0,
		c:                               win32.ERROR_FILE_NOT_FOUND,
		`\\?\Volume{11111111-2222-3333-4444-555555555555}`: win32.ERROR_FILE_NOT_FOUND,
		``: win32.ERROR_FILE_NOT_FOUND,
	} {
		h, err := n.OpenDevice(path, 0)
		wantCode(t, path, err, want)
		if err == nil {
			must(t, h.Close())
		}
	}
}

func TestControlCodesAndBuffers(t *testing.T) {
	n := newNode(t, nil)
	c := n.disks.volumes()[1].name()
	weak := openDevice(t, n, oneDrive, 0)
	strong := openDevice(t, n, oneDrive, readWrite)
	system := openDevice(t, n, `\\.\PhysicalDrive0`, readWrite)
	volume := openDevice(t, n, c[:len(c)-1], 0)
	scsi := openDevice(t, n, n.adapters()[0].interfacePath(), 0)
	header := win32.StoragePropertyQuery{}.Bytes()
	for _, c := range []struct {
		name   string
		h      kernel.Handle
		code   uint32
		in     []byte
		room   int
		want   win32.Errno
		filled int
	}{
		{"length without the right to read", weak, win32.IOCTL_DISK_GET_LENGTH_INFO, nil, 8, win32.ERROR_ACCESS_DENIED, 0},
		{"length", strong, win32.IOCTL_DISK_GET_LENGTH_INFO, nil, 8, 0, 8},
		{"length, small", strong, win32.IOCTL_DISK_GET_LENGTH_INFO, nil, 7, win32.ERROR_INSUFFICIENT_BUFFER, 0},
		{"number, small", weak, win32.IOCTL_STORAGE_GET_DEVICE_NUMBER, nil, 11, win32.ERROR_INSUFFICIENT_BUFFER, 0},
		{"header of a descriptor", weak, win32.IOCTL_STORAGE_QUERY_PROPERTY, header, 8, 0, 8},
		{"less than the header", weak, win32.IOCTL_STORAGE_QUERY_PROPERTY, header, 7, win32.ERROR_INSUFFICIENT_BUFFER, 0},
		{"no query", weak, win32.IOCTL_STORAGE_QUERY_PROPERTY, nil, 8, win32.ERROR_INVALID_PARAMETER, 0},
		{"unknown property", weak, win32.IOCTL_STORAGE_QUERY_PROPERTY, win32.StoragePropertyQuery{PropertyID: 40}.Bytes(), 8,
			win32.ERROR_INVALID_FUNCTION, 0},
		{"all identifiers", weak, win32.IOCTL_STORAGE_QUERY_PROPERTY,
			win32.StoragePropertyQuery{PropertyID: 3}.Bytes(), 200, 0, 143},
		{"all identifiers, header", weak, win32.IOCTL_STORAGE_QUERY_PROPERTY,
			win32.StoragePropertyQuery{PropertyID: 3}.Bytes(), 8, 0, 8},
		{"all identifiers, small", weak, win32.IOCTL_STORAGE_QUERY_PROPERTY,
			win32.StoragePropertyQuery{PropertyID: 3}.Bytes(), 100, win32.ERROR_MORE_DATA, 8},
		{"identifiers of a disk that has none", system, win32.IOCTL_STORAGE_QUERY_PROPERTY,
			win32.StoragePropertyQuery{PropertyID: 2}.Bytes(), 8, win32.ERROR_NOT_SUPPORTED, 0},
		{"layout, small", system, win32.IOCTL_DISK_GET_DRIVE_LAYOUT_EX, nil, 100, win32.ERROR_INSUFFICIENT_BUFFER, 0},
		{"create without the right", weak, win32.IOCTL_DISK_CREATE_DISK, win32.CreateDisk{Style: 1}.Bytes(), 0,
			win32.ERROR_ACCESS_DENIED, 0},
		{"create on the system disk", system, win32.IOCTL_DISK_CREATE_DISK, win32.CreateDisk{Style: 1}.Bytes(), 0,
			win32.ERROR_ACCESS_DENIED, 0},
		{"drop the system disk's layout", system, win32.IOCTL_DISK_CREATE_DISK, win32.CreateDisk{Style: 1}.Bytes(), 0, win32.ERROR_ACCESS_DENIED, 0},
		{"empty the system disk's layout", system, win32.IOCTL_DISK_SET_DRIVE_LAYOUT_EX, win32.DriveLayout{Style: 1}.Bytes(),
			0, win32.ERROR_ACCESS_DENIED, 0},
		{"system disk offline", system, win32.IOCTL_DISK_SET_DISK_ATTRIBUTES,
			win32.SetDiskAttributes{Version: 40, Attributes: 1, AttributesMask: 1}.Bytes(), 0, win32.ERROR_ACCESS_DENIED, 0},
		{"unknown attribute", strong, win32.IOCTL_DISK_SET_DISK_ATTRIBUTES,
			win32.SetDiskAttributes{Version: 40, Attributes: 4, AttributesMask: 4}.Bytes(), 0, win32.ERROR_INVALID_PARAMETER, 0},
		{"layout of another style", strong, win32.IOCTL_DISK_SET_DRIVE_LAYOUT_EX, win32.DriveLayout{Style: 1}.Bytes(), 0,
			win32.ERROR_INVALID_PARAMETER, 0},
		{"size without a buffer", strong, win32.IOCTL_DISK_UPDATE_DRIVE_SIZE, nil, 0, win32.ERROR_INSUFFICIENT_BUFFER, 0},
		{"unknown code", strong, 0x00070FFC, nil, 0, win32.ERROR_INVALID_FUNCTION, 0},
		{"file system code on a disk", strong, win32.FSCTL_LOCK_VOLUME, nil, 0, win32.ERROR_INVALID_FUNCTION, 0},
		{"extents", volume, win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, nil, 32, 0, 32},
		{"extents, small", volume, win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, nil, 31, win32.ERROR_MORE_DATA, 8},
		{"extents, smaller", volume, win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, nil, 7, win32.ERROR_INSUFFICIENT_BUFFER, 0},
		{"NTFS data", volume, win32.FSCTL_GET_NTFS_VOLUME_DATA, nil, 96, 0, 96},
		{"layout of an adapter", scsi, win32.IOCTL_DISK_GET_DRIVE_LAYOUT_EX, nil, 100, win32.ERROR_INVALID_FUNCTION, 0},
	} {
		filled, err := c.h.DeviceIoControl(c.code, c.in, make([]byte, c.room))
		wantCode(t, c.name, err, c.want)
		if filled != c.filled {
			t.Errorf("%s: got %d bytes, want %d", c.name, filled, c.filled)
		}
	}
	if l := layoutOf(t, n, 1); l.Style != win32.PARTITION_STYLE_RAW {
		t.Errorf("disk 1 became %v", l.Style)
	}
}

func TestReading(t *testing.T) {
	n := newNode(t, nil)
	v := formatted(t, n, oneDrive)
	d := openDevice(t, n, oneDrive, win32.GENERIC_READ)
	volume := openDevice(t, n, v[:len(v)-1], win32.GENERIC_READ)
	p := make([]byte, 1024)
	if size, err := d.ReadAt(p, 512); err != nil || size != 1024 || string(p[:8]) != "EFI PART" {
		t.Errorf("header: %d, %v, %q", size, err, p[:8])
	}
	if size, err := volume.ReadAt(p, 0); err != nil || size != 1024 || string(p[3:7]) != "NTFS" {
		t.Errorf("boot sector: %d, %v, %q", size, err, p[:8])
	}
	if size, err := d.ReadAt(p, 10<<30-512); !errors.Is(err, io.EOF) || size != 512 {
		t.Errorf("end: %d, %v", size, err)
	}
	if size, err := volume.ReadAt(p, 10<<30); !errors.Is(err, io.EOF) || size != 0 {
		t.Errorf("past the end: %d, %v", size, err)
	}
	_, err := d.ReadAt(p[:100], 0)
	wantCode(t, "part of a sector", err, win32.ERROR_INVALID_PARAMETER)
	_, err = d.ReadAt(p, 100)
	wantCode(t, "inside a sector", err, win32.ERROR_INVALID_PARAMETER)
	_, err = openDevice(t, n, oneDrive, 0).ReadAt(p, 0)
	wantCode(t, "without the right", err, win32.ERROR_ACCESS_DENIED)
	wantCode(t, "flush without the right", volume.Flush(), win32.ERROR_ACCESS_DENIED)
}

func TestOfflineAndReadOnlyDisks(t *testing.T) {
	n := newNode(t, nil)
	v := mounted(t, n, `C:\m`)
	d := openDevice(t, n, oneDrive, readWrite)
	file := openFile(t, n, `\\?\C:\m\`, how(anyRight, win32.FILE_OPEN, 0))
	old := openDevice(t, n, v[:len(v)-1], readWrite)
	attribute := func(bits, mask uint64) {
		t.Helper()
		control(t, d, win32.IOCTL_DISK_SET_DISK_ATTRIBUTES,
			win32.SetDiskAttributes{Version: 40, Persist: true, Attributes: bits, AttributesMask: mask}.Bytes())
	}
	attribute(1, 1)
	if l := diskLayout(t, d); l.Style != win32.PARTITION_STYLE_GPT || len(l.Partitions) != 2 {
		t.Errorf("layout of an offline disk: %+v", l)
	}
	_, err := n.OpenDevice(v[:len(v)-1], 0)
	wantCode(t, "volume of an offline disk", err, win32.ERROR_FILE_NOT_FOUND)
	wantCode(t, "old volume handle", old.Flush(), win32.ERROR_NO_SUCH_DEVICE)
	wantCode(t, "old file handle", file.Information(win32.FileStandardInfo, make([]byte, 24)), win32.ERROR_NO_SUCH_DEVICE)
	_, err = d.DeviceIoControl(win32.IOCTL_DISK_CREATE_DISK, win32.CreateDisk{Style: 1}.Bytes(), nil)
	wantCode(t, "create on an offline disk", err, win32.ERROR_WRITE_PROTECT)

	attribute(2, 3)
	if got, err := n.VolumeNameForMountPoint(`C:\m\`); err != nil || got != v {
		t.Errorf("mount point of a disk that is online again: %s, %v", got, err)
	}
	_, err = d.DeviceIoControl(win32.IOCTL_DISK_CREATE_DISK, win32.CreateDisk{Style: 1}.Bytes(), nil)
	wantCode(t, "change a read-only disk", err, win32.ERROR_WRITE_PROTECT)
	wantCode(t, "format a read-only disk", n.FormatVolume(v, "NTFS"), win32.ERROR_WRITE_PROTECT)
	_, err = n.OpenFile(nil, `\\?\C:\m\x`, how(0, win32.FILE_CREATE, win32.FILE_DIRECTORY_FILE))
	wantCode(t, "make a directory on a read-only disk", err, win32.ERROR_WRITE_PROTECT)
	wantCode(t, "flush a read-only disk", openDevice(t, n, v[:len(v)-1], readWrite).Flush(), win32.ERROR_WRITE_PROTECT)
	if fileSystem, err := n.VolumeInformation(v); err != nil || fileSystem != "NTFS" {
		t.Errorf("the file system of a read-only disk: %q, %v", fileSystem, err)
	}
	attribute(0, 3)
	mkdir(t, n, `C:\m\x`)
}

func TestPulledDisk(t *testing.T) {
	n := newNode(t, nil)
	v := mounted(t, n, `C:\m`)
	d, volume := openDevice(t, n, oneDrive, readWrite), openDevice(t, n, v[:len(v)-1], readWrite)
	_, err := n.DetachDisk(1)
	must(t, err)
	if _, err := n.DetachDisk(1); !errdefs.HasReason(err, "NOT_FOUND") {
		t.Errorf("detached twice: %v", err)
	}
	if _, err := n.DetachDisk(0); !errors.Is(err, ErrSystemDisk) {
		t.Errorf("system disk: %v", err)
	}
	_, err = d.DeviceIoControl(win32.IOCTL_DISK_GET_DISK_ATTRIBUTES, nil, make([]byte, 16))
	wantCode(t, "disk", err, win32.ERROR_NO_SUCH_DEVICE)
	_, err = d.DeviceIoControl(win32.IOCTL_DISK_CREATE_DISK, win32.CreateDisk{Style: 1}.Bytes(), nil)
	wantCode(t, "change", err, win32.ERROR_NO_SUCH_DEVICE)
	_, err = d.ReadAt(make([]byte, 512), 0)
	wantCode(t, "read", err, win32.ERROR_NO_SUCH_DEVICE)
	_, err = volume.DeviceIoControl(win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, nil, make([]byte, 32))
	wantCode(t, "volume", err, win32.ERROR_NO_SUCH_DEVICE)
	_, err = n.VolumeNameForMountPoint(`C:\m\`)
	wantCode(t, "mount point", err, win32.ERROR_FILE_NOT_FOUND)
	_, err = n.HostPath(`C:\m\x`)
	wantCode(t, "path below it", err, win32.ERROR_PATH_NOT_FOUND)
	number, err := n.AttachDisk(bundle.Spec{SizeBytes: 1 << 30, LUNAuto: true})
	if err != nil || number != 1 {
		t.Errorf("next disk: %d, %v, want the number that is free", number, err)
	}
	wantCode(t, "old handle on the new disk", second(d.ReadAt(make([]byte, 512), 0)), win32.ERROR_NO_SUCH_DEVICE)
}

func TestAttachedDisks(t *testing.T) {
	n := newNode(t, nil)
	for _, spec := range []bundle.Spec{
		{SizeBytes: 1 << 20}, {SizeBytes: 5<<20 + 1, LUN: 9}, {SizeBytes: 5 << 20, LUN: 1},
		{SizeBytes: 5 << 20, LUN: 9, SectorSize: 520},
		{SizeBytes: 5 << 20, LUN: 9, SerialNumber: "a\nb"}, {SizeBytes: 1 << 60, LUN: 9},
	} {
		if _, err := n.AttachDisk(spec); !errors.Is(err, bundle.ErrInvalid) {
			t.Errorf("%+v: %v", spec, err)
		}
	}
	number, err := n.AttachDisk(bundle.Spec{SizeBytes: 8 << 20, LUNAuto: true, SectorSize: 4096})
	if d, ok := n.disks[number]; err != nil || !ok || number != 3 || d.record.LUN != 0 {
		t.Errorf("disk %d, %v", number, err)
	}
	if err := n.GrowDisk(3, 4<<20); !errors.Is(err, bundle.ErrInvalid) {
		t.Errorf("shrunk: %v", err)
	}
	must(t, n.GrowDisk(3, 16<<20))
	g, _ := win32.ParseDiskGeometryEx(ask(t, openDevice(t, n, `\\.\PhysicalDrive3`, 0),
		win32.IOCTL_DISK_GET_DRIVE_GEOMETRY_EX, nil))
	if g.DiskSize != 16<<20 || g.BytesPerSector != 4096 {
		t.Errorf("geometry: %+v", g)
	}
}

func TestIdentityThatIsTaken(t *testing.T) {
	n := openNode(t, t.TempDir(), Options{Scenario: smallScenario()})
	partition(t, n, oneDrive)
	must(t, n.SetDiskOnline(2, true))
	err := ioctl(n, `\\.\PhysicalDrive2`, win32.IOCTL_DISK_CREATE_DISK,
		win32.CreateDisk{Style: 1, DiskID: layoutOf(t, n, 1).DiskID}.Bytes())
	wantCode(t, "to make a table", err, win32.ERROR_INVALID_PARAMETER)
}

func TestLayouts(t *testing.T) {
	n := newNode(t, func(s *scenario.Switches) { s.MSR = scenario.MSRNever })
	d := openDevice(t, n, oneDrive, readWrite)
	id := ondisk.NewGUID()
	control(t, d, win32.IOCTL_DISK_CREATE_DISK, win32.CreateDisk{Style: 1, DiskID: id, MaxPartitionCount: 128}.Bytes())
	l := diskLayout(t, d)
	want := win32.DriveLayout{Style: 1, DiskID: id, StartingUsableOffset: 34 * 512, UsableLength: 10<<30 - 67*512,
		MaxPartitionCount: 128}
	if diff := cmp.Diff(want, l); diff != "" {
		t.Errorf("empty GPT (-want +got):\n%s", diff)
	}
	part := func(start, length int64) win32.Partition {
		return win32.Partition{Style: 1, StartingOffset: start << 20, Length: length << 20, Type: win32.PartitionBasicData,
			ID: ondisk.NewGUID(), Name: "n", Attributes: 1 << 63, Rewrite: true}
	}
	set := func(parts ...win32.Partition) error {
		next := l
		next.Partitions = parts
		_, err := d.DeviceIoControl(win32.IOCTL_DISK_SET_DRIVE_LAYOUT_EX, next.Bytes(), nil)
		return err
	}
	a, b, c := part(1, 10), part(20, 10), part(11, 5)
	wantCode(t, "overlap", set(a, part(5, 10)), win32.ERROR_INVALID_PARAMETER)
	wantCode(t, "past the end", set(part(1, 10<<10)), win32.ERROR_INVALID_PARAMETER)
	wantCode(t, "over the table", set(part(0, 10)), win32.ERROR_INVALID_PARAMETER)
	odd := part(1, 10)
	odd.Length++
	wantCode(t, "part of a sector", set(odd), win32.ERROR_INVALID_PARAMETER)
	twin := part(30, 1)
	twin.ID = a.ID
	wantCode(t, "one GUID twice", set(a, twin), win32.ERROR_INVALID_PARAMETER)
	wantCode(t, "two partitions", set(a, b), 0)
	wantCode(t, "one between them, the first gone", set(c, b), 0)
	var numbers []uint32
	for _, p := range diskLayout(t, d).Partitions {
		numbers = append(numbers, p.Number)
		if p.Name != "n" || p.Attributes != 1<<63 {
			t.Errorf("partition: %+v", p)
		}
	}
	if diff := cmp.Diff([]uint32{1, 2}, numbers); diff != "" {
		t.Errorf("numbers (-want +got):\n%s", diff)
	}
	if got := diskLayout(t, d).Partitions; got[1].ID != b.ID || got[0].ID != c.ID {
		t.Errorf("partition 2 should have stayed: %+v", got)
	}
}

func TestMBR(t *testing.T) {
	s := smallScenario()
	s.Disks[0].Formatted, s.Disks[0].Table, s.Disks[0].SizeBytes = true, setting.TableMBR, 256<<20
	n := openNode(t, t.TempDir(), Options{Scenario: s})
	d := openDevice(t, n, oneDrive, readWrite)
	l := diskLayout(t, d)
	if l.Style != win32.PARTITION_STYLE_MBR || l.Signature == 0 || len(l.Partitions) != 4 || !l.Partitions[0].Recognized {
		t.Fatalf("MBR: %+v", l)
	}
	l.Partitions[0] = win32.Partition{Style: l.Style, StartingOffset: 1 << 20, Length: 64 << 20, MBRType: 7, Rewrite: true}
	control(t, d, win32.IOCTL_DISK_SET_DRIVE_LAYOUT_EX, l.Bytes())
	v := firstData(n)
	must(t, n.FormatVolume(v.name(), "NTFS"))
	if got := firstData(n); got.ID != v.ID || got.Length != 64<<20 || !got.formatted() {
		t.Errorf("formatted: %+v", got)
	}
	must(t, n.Reboot())
	if got := firstData(n); got.ID != v.ID {
		t.Errorf("the volume's name changed from %s to %s", v.ID, got.ID)
	}
}

func TestDetachNeedsOffline(t *testing.T) {
	n := newNode(t, func(s *scenario.Switches) { s.DetachNeedsOffline = true })
	if _, err := n.DetachDisk(1); err == nil || !strings.Contains(err.Error(), "while it is online") {
		t.Errorf("got %v", err)
	}
	must(t, n.SetDiskOnline(1, false))
	detached(t, n, 1)
}

func TestAttachFormattedDisk(t *testing.T) {
	s := scenario.Default()
	s.Disks = []bundle.Spec{{SizeBytes: 64 << 20, LUNAuto: true, SectorSize: 512, Offline: true, ReadOnly: true,
		Protected: true, Formatted: true, FileSystem: setting.FileSystemExFAT}}
	made := openNode(t, t.TempDir(), Options{Scenario: &s})
	must(t, made.SetDiskOnline(1, true))
	if list := made.disks[1].volumes; len(list) != 1 || list[0].boot.FileSystem != "exFAT" {
		t.Errorf("volumes of a formatted disk of a scenario: %+v", list)
	}
	n := newNode(t, nil)
	for _, sector := range []uint32{512, 4096} {
		number, err := n.AttachDisk(bundle.Spec{SizeBytes: bundle.MinFormattedBytes, SectorSize: sector, LUNAuto: true, Formatted: true})
		must(t, err)
		d := n.disks[number]
		list := d.volumes
		if len(list) != 1 || !list[0].formatted() || list[0].Length != 48<<20-1<<20 {
			t.Fatalf("sectors of %d bytes: volumes %+v", sector, list)
		}
		if _, err := n.content(list[0], nil); err != nil {
			t.Errorf("sectors of %d bytes: the volume is not mounted: %v", sector, err)
		}
	}
	if _, err := n.AttachDisk(bundle.Spec{ImagePath: os.DevNull, SizeBytes: 1 << 30, Formatted: true}); !errors.Is(err, bundle.ErrInvalid) {
		t.Errorf("an image to be formatted: got %v", err)
	}
}
