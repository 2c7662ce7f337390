// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"testing"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

const fileDeviceDisk = 7 // FILE_DEVICE_DISK

// onWine reports whether the test runs on Wine, which has a function that Windows lacks.
func onWine() bool {
	return windows.NewLazySystemDLL("ntdll.dll").NewProc("wine_get_version").Find() == nil
}

// disks returns the names of the node's disks. Wine has no device interfaces of disks, so there the first disk stands
// for all.
func disks(t *testing.T) []string {
	t.Helper()
	if onWine() {
		return []string{`\\.\PhysicalDrive0`}
	}
	paths, err := Kernel{}.DiskInterfaces()
	must(t, err)
	if len(paths) == 0 {
		t.Fatal("no disks")
	}
	return paths
}

func openDevice(t *testing.T, path string, access uint32) kernel.Handle {
	t.Helper()
	h, err := Kernel{}.OpenDevice(path, access)
	must(t, err)
	t.Cleanup(func() { _ = h.Close() })
	return h
}

func TestDisksHaveNumbers(t *testing.T) {
	for _, path := range disks(t) {
		t.Run(path, func(t *testing.T) {
			h := openDevice(t, path, 0)
			out := make([]byte, 12)
			n, err := h.DeviceIoControl(win32.IOCTL_STORAGE_GET_DEVICE_NUMBER, nil, out)
			must(t, err)
			number, err := win32.ParseStorageDeviceNumber(out[:n])
			must(t, err)
			t.Logf("%+v", number)
			if number.DeviceType != fileDeviceDisk {
				t.Errorf("device type %d, want %d", number.DeviceType, fileDeviceDisk)
			}
		})
	}
}

func TestDiskReportsItsDescriptor(t *testing.T) {
	h := openDevice(t, disks(t)[0], 0)
	out := make([]byte, 4096)
	n, err := h.DeviceIoControl(win32.IOCTL_STORAGE_QUERY_PROPERTY, win32.StoragePropertyQuery{}.Bytes(), out)
	must(t, err)
	device, err := win32.ParseStorageDevice(out[:n])
	must(t, err)
	t.Logf("%+v", device)

	// The header alone holds the size of the whole.
	n, err = h.DeviceIoControl(win32.IOCTL_STORAGE_QUERY_PROPERTY, win32.StoragePropertyQuery{}.Bytes(), out[:8])
	must(t, err)
	size, err := win32.DescriptorSize(out[:n])
	must(t, err)
	if size < 36 {
		t.Errorf("descriptor of %d bytes", size)
	}
}

func TestControlCodeNeedsItsAccess(t *testing.T) {
	h := openDevice(t, disks(t)[0], 0)
	_, err := h.DeviceIoControl(win32.IOCTL_DISK_GET_LENGTH_INFO, nil, make([]byte, 8))
	check(t, err, win32.ERROR_ACCESS_DENIED)
}

func TestUnknownControlCode(t *testing.T) {
	h := openDevice(t, disks(t)[0], 0)
	_, err := h.DeviceIoControl(0x00072FFC, nil, nil)
	if err == nil {
		t.Fatal("an unknown control code succeeded")
	}
	if got, want := err.Error(), "DeviceIoControl 0x00072ffc "+disks(t)[0]; len(got) < len(want) ||
		got[:len(want)] != want {
		t.Errorf("got %q, want it to begin with %q", got, want)
	}
}

func TestMissingDevice(t *testing.T) {
	for _, path := range []string{`\\.\PhysicalDrive254`, `\\?\Volume{e0b5fbd2-0000-4000-8000-00000000d15c}`} {
		_, err := Kernel{}.OpenDevice(path, 0)
		check(t, err, win32.ERROR_FILE_NOT_FOUND)
	}
	_, err := Kernel{}.OpenDevice("\\\\.\\Physical\x00Drive0", 0)
	check(t, err, win32.ERROR_INVALID_NAME)
}

func TestClosedHandle(t *testing.T) {
	h, err := Kernel{}.OpenDevice(disks(t)[0], 0)
	must(t, err)
	must(t, h.Close())
	other := openDevice(t, disks(t)[0], 0) // which gets the freed handle number
	check(t, h.Close(), win32.ERROR_INVALID_HANDLE)
	_, err = other.DeviceIoControl(win32.IOCTL_STORAGE_GET_DEVICE_NUMBER, nil, make([]byte, 12))
	must(t, err)
	_, err = h.DeviceIoControl(win32.IOCTL_STORAGE_GET_DEVICE_NUMBER, nil, make([]byte, 12))
	check(t, err, win32.ERROR_INVALID_HANDLE)
	_, err = Kernel{}.OpenFile(h, "name", kernel.OpenOptions{Disposition: win32.FILE_OPEN})
	check(t, err, win32.ERROR_INVALID_HANDLE)
}
