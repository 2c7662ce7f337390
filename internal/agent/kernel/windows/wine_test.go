// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// onWine reports whether the test runs on Wine, which has a function that Windows lacks.
func onWine() bool {
	return windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}

// TestWineGaps pins the functions that Wine lacks or implements differently from Windows. When it fails, Wine has
// changed: if it now behaves as Windows does, remove the row and test the function with the others.
func TestWineGaps(t *testing.T) {
	if !onWine() {
		t.Skip("require Wine: this lists its differences from Windows")
	}
	k := Kernel{}
	disk := openDevice(t, `\\.\PhysicalDrive0`, win32.GENERIC_READ|win32.GENERIC_WRITE)
	name, err := k.VolumeNameForMountPoint(`C:\`)
	must(t, err)
	volume := openDevice(t, name[:len(name)-1], win32.GENERIC_READ|win32.GENERIC_WRITE)
	dir := t.TempDir()
	must(t, os.Mkdir(filepath.Join(dir, "mount"), 0o700))
	mount := filepath.Join(dir, "mount") + `\`
	link := open(t, nil, `\\?\`+mount,
		with(lookAt(), func(how *kernel.OpenOptions) { how.Access |= win32.FILE_WRITE_ATTRIBUTES }))

	control := func(h kernel.Handle, code uint32, in []byte) func() (string, error) {
		return func() (string, error) {
			out := make([]byte, 18480)
			n, err := h.DeviceIoControl(code, in, out)
			return fmt.Sprintf("%d bytes", n), err
		}
	}
	only := func(err error) (string, error) { return "success", err }

	for _, gap := range []struct {
		name    string
		call    func() (string, error)
		windows string // what Windows does
		wine    string // what Wine does
	}{
		{
			"list disk interfaces",
			func() (string, error) { paths, err := k.DiskInterfaces(); return fmt.Sprint(len(paths), " disks"), err },
			"1 disk or more", "ERROR_GEN_FAILURE",
		},
		{
			"list adapter interfaces",
			func() (string, error) {
				paths, err := k.AdapterInterfaces()
				return fmt.Sprint(len(paths), " adapters"), err
			},
			"1 adapter or more", "ERROR_GEN_FAILURE",
		},
		{"reenumerate devices", func() (string, error) { return only(k.ReenumerateDevices()) },
			"success", "ERROR_GEN_FAILURE"},
		{"SCSI address", control(disk, win32.IOCTL_SCSI_GET_ADDRESS, nil), "8 bytes", "ERROR_NOT_SUPPORTED"},
		{
			"page 83",
			control(disk, win32.IOCTL_STORAGE_QUERY_PROPERTY,
				win32.StoragePropertyQuery{PropertyID: win32.StorageDeviceIdProperty}.Bytes()),
			"12 bytes or more", "ERROR_NOT_SUPPORTED",
		},
		{"disk length", control(disk, win32.IOCTL_DISK_GET_LENGTH_INFO, nil), "8 bytes", "ERROR_NOT_SUPPORTED"},
		{"disk attributes", control(disk, win32.IOCTL_DISK_GET_DISK_ATTRIBUTES, nil), "16 bytes", "ERROR_NOT_SUPPORTED"},
		{"drive layout", control(disk, win32.IOCTL_DISK_GET_DRIVE_LAYOUT_EX, nil), "48 bytes or more", "ERROR_NOT_SUPPORTED"},
		{"update properties", control(disk, win32.IOCTL_DISK_UPDATE_PROPERTIES, nil), "0 bytes", "ERROR_NOT_SUPPORTED"},
		{"disk extents on a disk", control(disk, win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, nil),
			"ERROR_INVALID_FUNCTION", "32 bytes"},
		{"NTFS volume data", control(volume, win32.FSCTL_GET_NTFS_VOLUME_DATA, nil), "96 bytes", "ERROR_NOT_SUPPORTED"},
		{
			"disk extents of a volume",
			func() (string, error) {
				out := make([]byte, 32)
				if _, err := volume.DeviceIoControl(win32.IOCTL_VOLUME_GET_VOLUME_DISK_EXTENTS, nil, out); err != nil {
					return "", err
				}
				extents, err := win32.ParseVolumeDiskExtents(out)
				return fmt.Sprint(len(extents), " extents"), err
			},
			"1 extent", "0 extents",
		},
		{
			"read a disk",
			func() (string, error) {
				n, err := disk.ReadAt(make([]byte, 512), 0)
				return fmt.Sprintf("%d bytes", n), err
			},
			"512 bytes", "ERROR_INVALID_FUNCTION",
		},
		{"flush a volume", func() (string, error) { return only(volume.Flush()) }, "success", "ERROR_INVALID_FUNCTION"},
		{"mount", func() (string, error) { return only(k.SetVolumeMountPoint(mount, name)) }, "success",
			"ERROR_CALL_NOT_IMPLEMENTED"},
		// Wine fails without setting a code.
		{"unmount", func() (string, error) { return only(k.DeleteVolumeMountPoint(mount)) }, "success", "ERROR_GEN_FAILURE"},
		{
			"volume name of a missing directory",
			func() (string, error) { return k.VolumeNameForMountPoint(filepath.Join(dir, "missing") + `\`) },
			"ERROR_FILE_NOT_FOUND", "ERROR_NOT_A_REPARSE_POINT",
		},
		{
			"open below a volume name",
			func() (string, error) {
				h, err := k.OpenFile(nil, name+"windows", lookAt())
				if err != nil {
					return "", err
				}
				return only(h.Close())
			},
			"success", "ERROR_FILE_NOT_FOUND",
		},
		// Wine looks below the directory in which the process began.
		{"attributes below a drive's root", func() (string, error) { return only(k.QueryAttributes(`\\?\` + dir)) },
			"success", "ERROR_FILE_NOT_FOUND"},
		{
			"set a reparse point",
			control(link, win32.FSCTL_SET_REPARSE_POINT, win32.ReparsePoint{
				Tag: win32.IO_REPARSE_TAG_MOUNT_POINT, SubstituteName: `\??\` + name[4:],
			}.Bytes()),
			"0 bytes", "ERROR_NOT_SUPPORTED",
		},
		{
			"delete a reparse point",
			control(link, win32.FSCTL_DELETE_REPARSE_POINT, win32.DeleteReparsePoint(win32.IO_REPARSE_TAG_MOUNT_POINT)),
			"0 bytes", "ERROR_NOT_SUPPORTED",
		},
		{
			"open after a POSIX delete",
			func() (string, error) {
				file := filepath.Join(dir, "file")
				must(t, os.WriteFile(file, nil, 0o600))
				h := open(t, nil, `\\?\`+file, remove())
				must(t, h.SetInformation(win32.FileDispositionInfoEx,
					win32.FileDispositionEx(win32.FILE_DISPOSITION_FLAG_DELETE|win32.FILE_DISPOSITION_FLAG_POSIX_SEMANTICS)))
				again, err := k.OpenFile(nil, `\\?\`+file, lookAt())
				if err != nil {
					return "", err
				}
				return only(again.Close())
			},
			"ERROR_FILE_NOT_FOUND", "success", // the name goes when the handle does
		},
		{
			"move without the right to delete",
			func() (string, error) {
				root := tree(t)
				return only(open(t, open(t, root, "Sub", openDirectory()), "file.txt", lookAt()).Rename(root, "up"))
			},
			"ERROR_ACCESS_DENIED", "success",
		},
		{
			"set attributes without the right to",
			func() (string, error) {
				h := open(t, open(t, tree(t), "Sub", openDirectory()), "file.txt", lookAt())
				return only(h.SetInformation(win32.FileBasicInfo, win32.FileBasic{Attributes: win32.FILE_ATTRIBUTE_NORMAL}.Bytes()))
			},
			"ERROR_ACCESS_DENIED", "success",
		},
		{
			"move of a directory in which a file is open",
			func() (string, error) {
				root := tree(t)
				open(t, open(t, root, "Sub", openDirectory()), "file.txt",
					kernel.OpenOptions{Access: win32.FILE_READ_DATA, Share: shareAll, Disposition: win32.FILE_OPEN})
				return only(open(t, root, "Sub", remove()).Rename(root, "moved"))
			},
			"ERROR_ACCESS_DENIED", "success",
		},
		{
			"SMB global mappings",
			func() (string, error) {
				mappings, err := New().SMBGlobalMappings()
				return fmt.Sprint(len(mappings), " mappings"), err
			},
			"0 mappings or more", "ERROR_NOT_SUPPORTED",
		},
	} {
		t.Run(gap.name, func(t *testing.T) {
			got, err := gap.call()
			if err != nil {
				got = codeName(t, err)
			}
			if got != gap.wine {
				t.Errorf("Wine gives %s now; it gave %s, and Windows gives %s", got, gap.wine, gap.windows)
			}
		})
	}
}

func codeName(t *testing.T, err error) string {
	t.Helper()
	var failed *kernel.Error
	if !errors.As(err, &failed) {
		t.Fatalf("%v is not a kernel error", err)
	}
	return failed.Code.Name()
}
