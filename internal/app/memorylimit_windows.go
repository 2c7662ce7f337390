// SPDX-License-Identifier: Apache-2.0

package app

import (
	"fmt"
	"unsafe"

	"golang.org/x/sys/windows"
)

var isProcessInJob = windows.NewLazySystemDLL("kernel32.dll").NewProc("IsProcessInJob")

// findMemoryBound returns the limits of the job object in which the process runs. containerd runs a HostProcess container
// in a job, and its memory limit is the job's (hcsshim, internal/jobcontainers): memory beyond it cannot be committed, and
// Go ends a program that gets none. Of nested jobs only the innermost can be asked for, which for a HostProcess
// container is the container's. A Windows service is usually in none.
//
//	BOOL IsProcessInJob(HANDLE ProcessHandle, HANDLE JobHandle, PBOOL Result);
//	BOOL QueryInformationJobObject(HANDLE hJob, JOBOBJECTINFOCLASS class, LPVOID info, DWORD size, LPDWORD returned);
//
// https://learn.microsoft.com/windows/win32/api/jobapi/nf-jobapi-isprocessinjob
// https://learn.microsoft.com/windows/win32/api/jobapi2/nf-jobapi2-queryinformationjobobject
func findMemoryBound() (memoryBound, error) {
	var inJob int32
	if ok, _, err := isProcessInJob.Call(uintptr(windows.CurrentProcess()), 0, uintptr(unsafe.Pointer(&inJob))); ok == 0 {
		return memoryBound{}, fmt.Errorf("IsProcessInJob: %w", err)
	}
	if inJob == 0 {
		return memoryBound{}, nil // QueryInformationJobObject would fail
	}
	var info windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	err := windows.QueryInformationJobObject(0, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	if err != nil {
		return memoryBound{}, fmt.Errorf("QueryInformationJobObject: %w", err)
	}
	return boundOf(&info), nil
}

// boundOf returns the lower of a job's two limits of committed memory, each of which holds only if its flag is set.
func boundOf(info *windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION) (bound memoryBound) {
	for _, limit := range []struct {
		flag  uint32
		bytes uintptr
		by    string
	}{
		{windows.JOB_OBJECT_LIMIT_JOB_MEMORY, info.JobMemoryLimit, "job object"},
		{windows.JOB_OBJECT_LIMIT_PROCESS_MEMORY, info.ProcessMemoryLimit, "job object, for each process"},
	} {
		set := info.BasicLimitInformation.LimitFlags&limit.flag != 0 && limit.bytes != 0
		if set && (bound.bytes == 0 || uint64(limit.bytes) < bound.bytes) {
			bound = memoryBound{bytes: uint64(limit.bytes), by: limit.by}
		}
	}
	return bound
}
