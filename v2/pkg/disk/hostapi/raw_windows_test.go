// SPDX-License-Identifier: Apache-2.0

package api_test

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/inprocess"
	hostapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
)

// TestRawDisk asks the first disk of the machine that the test runs on.
func TestRawDisk(t *testing.T) {
	const path = `\\.\PhysicalDrive0`
	name, err := syscall.UTF16PtrFromString(path)
	if err != nil {
		t.Fatal(err)
	}
	disk, err := syscall.CreateFile(name, 0, syscall.FILE_SHARE_READ|syscall.FILE_SHARE_WRITE, nil,
		syscall.OPEN_EXISTING, 0, 0)
	if errors.Is(err, os.ErrNotExist) {
		t.Skip("require a disk 0")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.CloseHandle(disk) }()
	node, err := inprocess.Open(inprocess.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, disks := range map[string]hostapi.DiskAPI{"New": hostapi.New(),
		"FromClient": hostapi.FromClient(node.Client())} {
		if number, err := disks.GetDiskNumber(disk); number != 0 || err != nil {
			t.Errorf("%s: GetDiskNumber = %d, %v, want 0", name, number, err)
		}
		if _, err := disks.GetDiskPage83ID(disk); errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: GetDiskPage83ID: %v", name, err)
		}
		if number, _, err := disks.GetDiskNumberAndPage83ID(path); number != 0 || errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%s: GetDiskNumberAndPage83ID = %d, %v, want 0", name, number, err)
		}
	}
	_, _, err = hostapi.New().GetDiskNumberAndPage83ID(`\\.\PhysicalDrive7777`)
	if failure := (*os.PathError)(nil); !errors.As(err, &failure) || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a disk that is not there: %v, want a PathError", err)
	}
	number, page83, err := hostapi.New().GetDiskNumberAndPage83ID(path)
	t.Logf("%s is disk %d, %q, %v", path, number, page83, err)
	if number != 0 {
		t.Errorf("GetDiskNumberAndPage83ID = %d, want 0", number)
	}
}

// TestRawDiskOfAClient: a handle or a device path is not taken for one of another machine.
func TestRawDiskOfAClient(t *testing.T) {
	disks := hostapi.FromClient(csiproxy.New(csiproxy.Options{}))
	_, numberErr := disks.GetDiskNumber(0)
	_, idErr := disks.GetDiskPage83ID(0)
	_, _, pathErr := disks.GetDiskNumberAndPage83ID(`\\.\PhysicalDrive0`)
	for _, err := range []error{numberErr, idErr, pathErr} {
		if !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%v, want ErrUnsupported", err)
		}
	}
}
