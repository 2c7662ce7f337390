// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A family is a program and all that it starts. They end together, when the kit says so or when the kit itself ends.
type family struct{ job windows.Handle }

// endTogether puts this process into a job of its own, in which all that it starts is born and with it ends.
func endTogether() error {
	job, err := newJob()
	if err != nil {
		return err
	}
	// its handle is closed when this process is gone
	return windows.AssignProcessToJobObject(job, windows.CurrentProcess())
}

// newFamily makes a job object within that of the kit.
func newFamily() (*family, error) {
	job, err := newJob()
	return &family{job}, err
}

// newJob makes a job object. Its handle is not inherited, so that the kernel ends the job's processes when this process
// is gone.
// https://learn.microsoft.com/windows/win32/procthread/nested-jobs
func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	limits := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
			LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
		},
	}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		_ = windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

// start starts a program in a console group of its own, so that Ctrl-C reaches the kit alone, and puts it into the job.
// One that has ended already stays in the kit's.
func (f *family) start(c *exec.Cmd) error {
	c.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	if err := c.Start(); err != nil {
		return err
	}
	_ = c.Process.WithHandle(func(process uintptr) {
		_ = windows.AssignProcessToJobObject(f.job, windows.Handle(process))
	})
	return nil
}

// end ends all of them.
func (f *family) end() {
	const exitCode = 1
	_ = windows.TerminateJobObject(f.job, exitCode)
	_ = windows.CloseHandle(f.job)
}
