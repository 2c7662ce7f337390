// SPDX-License-Identifier: Apache-2.0

package app

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/test/testnode"
)

// TestJobBound puts this process into a job with a limit that it does not reach. Nested jobs show the innermost one's.
// Wine answers the same questions and keeps no limit.
func TestJobBound(t *testing.T) {
	for _, c := range []struct {
		flags        uint32
		job, process uintptr
		want         memoryBound
	}{
		{windows.JOB_OBJECT_LIMIT_JOB_MEMORY, 8 << 30, 1, memoryBound{8 << 30, "job object"}},
		{windows.JOB_OBJECT_LIMIT_JOB_MEMORY | windows.JOB_OBJECT_LIMIT_PROCESS_MEMORY, 8 << 30, 4 << 30, memoryBound{4 << 30, "job object, for each process"}},
	} {
		job, err := windows.CreateJobObject(nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = windows.CloseHandle(job) }) // the process stays in it
		info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{JobMemoryLimit: c.job, ProcessMemoryLimit: c.process}
		info.BasicLimitInformation.LimitFlags = c.flags
		if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
			t.Fatal(err)
		}
		if err := windows.AssignProcessToJobObject(job, windows.CurrentProcess()); err != nil {
			t.Fatal(err)
		}
		if testnode.OnWine() {
			c.want = memoryBound{}
		}
		if got, err := findMemoryBound(); err != nil || got != c.want {
			t.Errorf("flags %#x: got %+v, %v, want %+v", c.flags, got, err, c.want)
		}
	}
}

// TestBoundOfJob has limits whose flag is not set, as a job of another purpose leaves them behind.
func TestBoundOfJob(t *testing.T) {
	for _, c := range []struct {
		flags        uint32
		job, process uintptr
		want         uint64
	}{
		{0, 1, 2, 0},
		{windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, 1, 2, 0},
		{windows.JOB_OBJECT_LIMIT_JOB_MEMORY, 10, 2, 10},
		{windows.JOB_OBJECT_LIMIT_PROCESS_MEMORY, 1, 20, 20},
		{windows.JOB_OBJECT_LIMIT_JOB_MEMORY | windows.JOB_OBJECT_LIMIT_PROCESS_MEMORY, 10, 20, 10},
		{windows.JOB_OBJECT_LIMIT_JOB_MEMORY, 0, 0, 0},
	} {
		info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{JobMemoryLimit: c.job, ProcessMemoryLimit: c.process}
		info.BasicLimitInformation.LimitFlags = c.flags
		if got := boundOf(&info); got.bytes != c.want {
			t.Errorf("%+v: got %d", c, got.bytes)
		}
	}
}
