// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
)

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
