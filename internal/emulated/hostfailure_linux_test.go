// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
)

// outage is a hook that makes some of the host's operations fail until it is over.
type outage struct {
	fails func(change, path string) bool
	err   error
}

func (o *outage) before(change, path string) error {
	if o.fails != nil && o.fails(change, path) {
		return o.err
	}
	return nil
}

// While a change of a disk is made, the host's disk is full. No call sees half of the change, and the next look after
// the cause has gone finds all of it.
func TestHalfAppliedChangeIsFinishedByTheNextRead(t *testing.T) {
	full := outage{func(change, path string) bool {
		return change == "write" && strings.HasSuffix(path, bundle.ImageFile)
	}, syscall.ENOSPC}
	var host outage
	n := openNode(t, t.TempDir(), Options{Scenario: smallScenario(), Before: host.before})
	mounted(t, n, crashDir)
	must(t, n.GrowDisk(1, 128<<20))
	must(t, n.SetDiskOnline(2, true))
	two := openDevice(t, n, `\\.\PhysicalDrive2`, readWrite)
	one := openDevice(t, n, oneDrive, readWrite)
	_, err := one.DeviceIoControl(win32.IOCTL_DISK_UPDATE_DRIVE_SIZE, nil, make([]byte, 64))
	must(t, err)

	host = full
	_, err = two.DeviceIoControl(win32.IOCTL_DISK_CREATE_DISK,
		win32.CreateDisk{Style: win32.PARTITION_STYLE_GPT}.Bytes(), nil)
	if err == nil || !strings.Contains(err.Error(), "because of the host") {
		t.Errorf("a table is made while the host fails: %v", err)
	}
	if _, err := one.DeviceIoControl(win32.IOCTL_DISK_GET_DRIVE_LAYOUT_EX, nil, make([]byte, 20000)); err == nil {
		t.Error("a layout is read while a change is half done")
	}
	host = outage{}
	if l := diskLayout(t, two); l.Style != win32.PARTITION_STYLE_GPT {
		t.Errorf("the disk with the half-done change has style %v", l.Style)
	}

	// The same of a mounted volume, which stays mounted.
	host = full
	if _, err := one.DeviceIoControl(win32.IOCTL_DISK_UPDATE_PROPERTIES, nil, nil); err == nil {
		t.Error("a table is moved while the host fails")
	}
	if _, _, err := n.DiskFreeSpace(crashDir + `\`); err == nil {
		t.Error("a mounted volume answers while its disk is half changed")
	}
	host = outage{}
	if _, _, err := n.DiskFreeSpace(crashDir + `\`); err != nil {
		t.Errorf("the mounted volume, when the cause has gone: %v", err)
	}
	checkTidy(t, n)
	checkImages(t, n)
}

// A process that may open few files does not take mount points for ordinary directories because it cannot open them.
func TestMountRecordsSurviveAStartThatCannotLook(t *testing.T) {
	dir := t.TempDir()
	n := openNode(t, dir, Options{Scenario: smallScenario()})
	v := mounted(t, n, crashDir)
	must(t, n.Close())
	var before syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before))
	open, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	highest := uint64(len(open))
	failed := 0
	for more := range uint64(20) {
		few := before
		few.Cur = highest + more
		must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few))
		n, err := Open(dir, Options{})
		must(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before))
		if err != nil {
			var damaged *hostfiles.DamagedError
			if errors.As(err, &damaged) {
				t.Errorf("with %d more files: %v", more, err)
			}
			failed++
			continue
		}
		must(t, n.Close())
	}
	if failed == 0 || failed == 20 {
		t.Errorf("of 20 starts %d failed", failed)
	}
	n = openNode(t, dir, Options{})
	if paths, err := n.VolumePathNames(v); err != nil || !slices.Contains(paths, crashDir+`\`) {
		t.Errorf("the volume's paths are %q, %v", paths, err)
	}
}

// A ghost is seen only where nothing keeps the node from looking.
func TestStaleMountRecords(t *testing.T) {
	for err, want := range map[error]bool{
		syscall.EMFILE: false, syscall.ENFILE: false, syscall.EIO: false, syscall.EACCES: false, syscall.ENOMEM: false,
		os.ErrNotExist: true, win32.ERROR_PATH_NOT_FOUND: true, win32.ERROR_DIRECTORY: true,
		win32.ERROR_NOT_A_REPARSE_POINT: true,
	} {
		if got := isNoMountPoint(&os.PathError{Op: "open", Path: "directory", Err: err}); got != want {
			t.Errorf("%v: no mount point: %t, want %t", err, got, want)
		}
	}
}
