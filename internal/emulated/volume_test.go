// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ondisk"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/reparse"
)

const unknownVolume = `\\?\Volume{11111111-2222-3333-4444-555555555555}\`

func TestRawVolume(t *testing.T) {
	n := newNode(t, nil)
	v := partition(t, n, oneDrive)
	_, err := openDevice(t, n, v[:len(v)-1], 0).DeviceIoControl(win32.FSCTL_GET_NTFS_VOLUME_DATA, nil, make([]byte, 96))
	wantCode(t, "NTFS data", err, win32.ERROR_UNRECOGNIZED_VOLUME)
	mkdir(t, n, `C:\m`)
	must(t, n.SetVolumeMountPoint(`C:\m\`, v)) // a raw volume can be mounted, but not used
	_, err = n.HostPath(`C:\m\x`)
	wantCode(t, "below its mount point", err, win32.ERROR_UNRECOGNIZED_VOLUME)
}

func TestVolumeCodes(t *testing.T) {
	n := newNode(t, nil)
	for _, c := range []struct {
		name string
		err  error
		want win32.Errno
	}{
		{"information of an unknown volume", second(n.VolumeInformation(unknownVolume)), win32.ERROR_FILE_NOT_FOUND},
		{"access to an unknown drive", failed("RootAccess", "", second(n.RootAccess(`Q:\`))), win32.ERROR_PATH_NOT_FOUND},
		{"access to a directory", failed("RootAccess", "", second(n.RootAccess(`C:\Windows\`))), win32.ERROR_DIR_NOT_ROOT},
		{"access to C", failed("RootAccess", "", second(n.RootAccess(`C:\`))), 0},
		{"path names of no volume name", second(n.VolumePathNames(`C:\`)), win32.ERROR_INVALID_NAME},
		{"path names of an unknown volume", second(n.VolumePathNames(unknownVolume)), win32.ERROR_FILE_NOT_FOUND},
		{"format as ext4", n.FormatVolume(n.disks.volumes()[0].name(), "ext4"), win32.ERROR_INVALID_PARAMETER},
		{"format C", n.FormatVolume(n.disks.volumes()[1].name(), "NTFS"), win32.ERROR_ACCESS_DENIED},
		{"format an unknown volume", n.FormatVolume(unknownVolume, "NTFS"), win32.ERROR_FILE_NOT_FOUND},
		{"format no volume name", n.FormatVolume(`C:\`, "NTFS"), win32.ERROR_INVALID_PARAMETER},
		{"the firmware's ACPI tables", second(n.SystemFirmwareTable(0x41435049, 0)), win32.ERROR_INVALID_FUNCTION},
	} {
		wantCode(t, c.name, c.err, c.want)
	}
}

func second[T any](_ T, err error) error { return err }

// Programs of the host that follow mount points themselves find the volume's directory before the agent has looked.
func TestMountedDirectoryIsThere(t *testing.T) {
	n := newNode(t, nil)
	d := n.disks[attachedAs(t, n, bundle.Spec{SizeBytes: bundle.MinFormattedBytes, Formatted: true, LUNAuto: true})]
	mkdir(t, n, `C:\m`)
	must(t, n.SetVolumeMountPoint(`C:\m\`, d.volumes[0].name()))
	if _, err := os.Stat(d.image.Files(d.volumes[0].ID)); err != nil {
		t.Error(err)
	}
}

func TestMountPointCodes(t *testing.T) {
	n := newNode(t, nil)
	v := formatted(t, n, oneDrive)
	mkdir(t, n, `C:\m\full\x`)
	mkdir(t, n, `C:\m\e`)
	mkdir(t, n, `C:\m\other`)
	link(t, n, `C:\m\link`, reparse.Symlink(`C:\m\e`))
	link(t, n, `C:\m\junction`, reparse.Junction(`C:\m`))
	must(t, os.WriteFile(hostPath(t, n, `C:\m\file`), nil, 0o600))
	for _, c := range []struct {
		name, path, volume string
		want               win32.Errno
	}{
		{"no separator behind", `C:\m\e`, v, win32.ERROR_INVALID_NAME},
		{"missing", `C:\m\none\`, v, win32.ERROR_FILE_NOT_FOUND},
		{"missing parent", `C:\none\e\`, v, win32.ERROR_PATH_NOT_FOUND},
		{"file", `C:\m\file\`, v, win32.ERROR_DIRECTORY},
		{"not empty", `C:\m\full\`, v, win32.ERROR_DIR_NOT_EMPTY},
		{"link", `C:\m\link\`, v, win32.ERROR_DIR_NOT_EMPTY},
		{"no volume name", `C:\m\e\`, `C:\`, win32.ERROR_INVALID_PARAMETER},
		{"volume name without its separator", `C:\m\e\`, v[:len(v)-1], win32.ERROR_INVALID_PARAMETER},
		{"unknown volume", `C:\m\e\`, unknownVolume, win32.ERROR_FILE_NOT_FOUND},
		{"taken letter", `C:\`, v, win32.ERROR_DIR_NOT_EMPTY},
		{"empty directory", `C:\m\E\`, v, 0},
		{"there already", `C:\m\e\`, v, win32.ERROR_DIR_NOT_EMPTY},
		{"a second one, verbatim", `\\?\C:\m\other\`, v, 0},
		{"letter", `X:\`, v, 0},
	} {
		wantCode(t, "set: "+c.name, n.SetVolumeMountPoint(c.path, c.volume), c.want)
	}
	mkdir(t, n, `X:\inner`)
	must(t, n.SetVolumeMountPoint(`C:\m\e\inner\`, n.disks.volumes()[1].name())) // C below itself
	paths, err := n.VolumePathNames(v)
	must(t, err)
	if diff := cmp.Diff([]string{`X:\`, `C:\m\e\`, `C:\m\other\`}, paths); diff != "" {
		t.Errorf("path names (-want +got):\n%s", diff)
	}
	if target, err := n.Readlink(`C:\m\e`); err != nil || target != v {
		t.Errorf("read as a link: %s, %v", target, err)
	}
	if got := hostPath(t, n, `X:\inner\Windows\..\Windows`); got != hostPath(t, n, `C:\Windows`) {
		t.Errorf("through two mount points: %s", got)
	}
	for _, c := range []struct {
		name, path string
		want       win32.Errno
	}{
		{"plain directory", `C:\m\full\`, win32.ERROR_NOT_A_REPARSE_POINT},
		{"missing", `C:\m\none\`, win32.ERROR_FILE_NOT_FOUND},
		{"missing parent", `C:\none\x\`, win32.ERROR_PATH_NOT_FOUND},
		{"no separator behind", `C:\m\e`, win32.ERROR_INVALID_NAME},
		{"link", `C:\m\link\`, win32.ERROR_INVALID_PARAMETER},
		{"junction", `C:\m\junction\`, win32.ERROR_INVALID_PARAMETER},
		{"unknown drive", `Q:\`, win32.ERROR_PATH_NOT_FOUND},
	} {
		wantCode(t, "name: "+c.name, second(n.VolumeNameForMountPoint(c.path)), c.want)
		if c.name != "unknown drive" {
			wantCode(t, "delete: "+c.name, n.DeleteVolumeMountPoint(c.path), c.want)
		}
	}
	must(t, n.DeleteVolumeMountPoint(`C:\m\OTHER\`))
	for path, want := range map[string]string{`C:\`: n.disks.volumes()[1].name(), `C:\m\link\..\e\`: v} {
		if got, err := n.VolumeNameForMountPoint(path); err != nil || got != want {
			t.Errorf("%s: %s, %v", path, got, err)
		}
	}
	_, err = n.DetachDisk(1)
	must(t, err)
	wantCode(t, "delete when the volume is gone", n.DeleteVolumeMountPoint(`C:\m\e\`), win32.ERROR_FILE_NOT_FOUND)
	h := openFile(t, n, `\\?\C:\m\e`, how(win32.GENERIC_WRITE, win32.FILE_OPEN, win32.FILE_OPEN_REPARSE_POINT))
	control(t, h, win32.FSCTL_DELETE_REPARSE_POINT, win32.DeleteReparsePoint(win32.IO_REPARSE_TAG_MOUNT_POINT))
	wantCode(t, "after that", second(n.VolumeNameForMountPoint(`C:\m\e\`)), win32.ERROR_NOT_A_REPARSE_POINT)
}

func TestLockedAndDismountedVolumes(t *testing.T) {
	n := newNode(t, nil)
	v := formatted(t, n, oneDrive)
	device := v[:len(v)-1]
	h := openDevice(t, n, device, readWrite)
	file := openFile(t, n, v, how(win32.FILE_LIST_DIRECTORY, win32.FILE_OPEN, 0))
	lock := func() error { _, err := h.DeviceIoControl(win32.FSCTL_LOCK_VOLUME, nil, nil); return err }
	wantCode(t, "lock with a file open", lock(), win32.ERROR_ACCESS_DENIED)
	must(t, file.Close())
	other := openDevice(t, n, device, 0)
	wantCode(t, "lock with another handle", lock(), win32.ERROR_ACCESS_DENIED)
	must(t, other.Close())
	wantCode(t, "lock", lock(), 0)
	_, err := n.OpenFile(nil, v, how(win32.FILE_LIST_DIRECTORY, win32.FILE_OPEN, 0))
	wantCode(t, "file of a locked volume", err, win32.ERROR_ACCESS_DENIED)
	_, err = n.OpenDevice(device, 0)
	wantCode(t, "locked volume", err, win32.ERROR_ACCESS_DENIED)
	wantCode(t, "format a locked volume", n.FormatVolume(v, "NTFS"), win32.ERROR_ACCESS_DENIED)
	must(t, h.Close()) // ends the lock as well
	h = openDevice(t, n, device, readWrite)

	file = openFile(t, n, v, how(win32.FILE_LIST_DIRECTORY, win32.FILE_OPEN, 0))
	control(t, h, win32.FSCTL_DISMOUNT_VOLUME, nil)
	wantCode(t, "file of a dismounted volume", file.Information(win32.FileStandardInfo, make([]byte, 24)),
		win32.ERROR_FILE_INVALID)
	wantCode(t, "lock again", lock(), 0)
	must(t, h.Close())
	file = openFile(t, n, v, how(win32.FILE_LIST_DIRECTORY, win32.FILE_OPEN, 0))
	must(t, n.FormatVolume(v, "NTFS"))
	wantCode(t, "file of a formatted volume", file.Information(win32.FileStandardInfo, make([]byte, 24)),
		win32.ERROR_FILE_INVALID)
}

func TestForeignFileSystems(t *testing.T) {
	n := newNode(t, nil)
	v := partition(t, n, oneDrive)
	sector := func(edit func(s []byte)) []byte {
		s := make([]byte, 4096)
		edit(s)
		return s
	}
	for want, s := range map[string][]byte{
		"ReFS":  sector(func(s []byte) { copy(s[3:], "ReFS"); copy(s[16:], "FSRS") }),
		"FAT32": sector(func(s []byte) { copy(s[11:], "\x00\x02"); copy(s[82:], "FAT32   "); s[510], s[511] = 0x55, 0xAA }),
		"exFAT": sector(func(s []byte) { copy(s[3:], "EXFAT   "); s[510], s[511] = 0x55, 0xAA }),
		"ext4":  sector(func(s []byte) { s[1024+56], s[1024+57] = 0x53, 0xEF }),
		"LUKS":  sector(func(s []byte) { copy(s, "LUKS\xba\xbe") }),
	} {
		d := firstData(n).disk
		must(t, d.write([]ondisk.Block{{Offset: firstData(n).StartingOffset, Data: s}}))
		got, err := n.VolumeInformation(v)
		if want == "ext4" || want == "LUKS" {
			wantCode(t, want, err, win32.ERROR_UNRECOGNIZED_VOLUME)
			continue
		}
		if err != nil || got != want {
			t.Errorf("%s: %s, %v", want, got, err)
		}
	}
}

func TestReboot(t *testing.T) {
	n := newNode(t, nil)
	v := mounted(t, n, `C:\m`)
	must(t, n.SetDiskOnline(2, true))
	d, volume := openDevice(t, n, oneDrive, readWrite), openDevice(t, n, v[:len(v)-1], readWrite)
	file := openFile(t, n, `\\?\C:\m\`, how(anyRight, win32.FILE_OPEN, 0))
	must(t, n.Reboot())
	_, err := d.DeviceIoControl(win32.IOCTL_DISK_GET_DISK_ATTRIBUTES, nil, make([]byte, 16))
	wantCode(t, "disk", err, win32.ERROR_INVALID_HANDLE)
	wantCode(t, "volume", volume.Flush(), win32.ERROR_INVALID_HANDLE)
	wantCode(t, "file", file.Information(win32.FileStandardInfo, make([]byte, 24)), win32.ERROR_INVALID_HANDLE)
	_, err = n.OpenFile(file, "x", how(0, win32.FILE_OPEN, 0))
	wantCode(t, "below the file", err, win32.ERROR_INVALID_HANDLE)
	must(t, volume.Close())
	if got, err := n.VolumeNameForMountPoint(`C:\m\`); err != nil || got != v {
		t.Errorf("mounted: %s, %v", got, err)
	}
	if two := n.disks[2]; two.attributes() != 0 {
		t.Error("disk 2 is offline again")
	}
}
