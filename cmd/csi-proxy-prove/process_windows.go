// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// start starts a program in a console group of its own, so that Ctrl-C reaches the kit alone, and in a job object. It
// returns what ends the job. The job's handle is not inherited, so that the kernel ends the job's processes when the
// kit is gone.
// https://learn.microsoft.com/windows/win32/procthread/job-objects
func start(c *exec.Cmd) (end func(), err error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return nil, err
	}
	end = sync.OnceFunc(func() {
		const exitCode = 1
		_ = windows.TerminateJobObject(job, exitCode)
		_ = windows.CloseHandle(job)
	})
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
			LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
		},
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err == nil {
		c.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
		c.Cancel = func() error { end(); return c.Process.Kill() }
		err = c.Start()
	}
	if err != nil {
		end()
		return nil, err
	}
	_ = c.Process.WithHandle(func(process uintptr) { // one that has ended already is in no job
		_ = windows.AssignProcessToJobObject(job, windows.Handle(process))
	})
	return end, nil
}
