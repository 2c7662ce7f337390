// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A family is a program and all that it starts. They end together, when the kit says so or when the kit itself ends.
type family struct{ job windows.Handle }

// endTogether puts this process into a job of its own, in which all that it starts is born. Without it, a kit that is
// killed between the start of a program and its adoption would leave a suspended process behind.
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
// It is suspended until it is there: what it starts is in the job, too.
func (f *family) start(c *exec.Cmd) error {
	c.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP | windows.CREATE_SUSPENDED}
	if err := c.Start(); err != nil {
		return err
	}
	err := f.adopt(uint32(c.Process.Pid))
	if err != nil {
		_ = c.Process.Kill()
		_ = c.Wait()
	}
	return err
}

// adopt puts a suspended process into the job and lets it go. A scanner of viruses may have put a thread of its own
// there.
func (f *family) adopt(pid uint32) error {
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, pid)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(process) }()
	if err := windows.AssignProcessToJobObject(f.job, process); err != nil {
		return err
	}
	snapshot, err := windows.CreateToolhelp32Snapshot(windows.TH32CS_SNAPTHREAD, 0)
	if err != nil {
		return err
	}
	defer func() { _ = windows.CloseHandle(snapshot) }()
	resumed := 0
	entry := windows.ThreadEntry32{Size: uint32(unsafe.Sizeof(windows.ThreadEntry32{}))}
	for err = windows.Thread32First(snapshot, &entry); err == nil; err = windows.Thread32Next(snapshot, &entry) {
		if entry.OwnerProcessID != pid {
			continue
		}
		thread, err := windows.OpenThread(windows.THREAD_SUSPEND_RESUME, false, entry.ThreadID)
		if err != nil {
			return err
		}
		_, err = windows.ResumeThread(thread)
		_ = windows.CloseHandle(thread)
		if err != nil {
			return err
		}
		resumed++
	}
	if resumed == 0 {
		return fmt.Errorf("process %d has no thread: %w", pid, err)
	}
	return nil
}

// end ends all of them.
func (f *family) end() {
	const exitCode = 1
	_ = windows.TerminateJobObject(f.job, exitCode)
	_ = windows.CloseHandle(f.job)
}
