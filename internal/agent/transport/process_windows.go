// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"

	"golang.org/x/sys/windows"
)

// processHandle is an open handle of a process. While it is open, Windows gives the process's number to no other one.
//
// https://devblogs.microsoft.com/oldnewthing/20110107-00/?p=11803
type processHandle windows.Handle

// hold holds the process of a number: the pipe remembers only that of the process that opened it.
func hold(pid uint32) Process {
	h, err := windows.OpenProcess(windows.PROCESS_QUERY_LIMITED_INFORMATION|windows.SYNCHRONIZE, false, pid)
	switch {
	case err == nil:
		return processHandle(h)
	case errors.Is(err, windows.ERROR_INVALID_PARAMETER): // no process has the number
		return ended{}
	default:
		return nil
	}
}

func (p processHandle) Ended() bool {
	event, err := windows.WaitForSingleObject(windows.Handle(p), 0)
	return event == windows.WAIT_OBJECT_0 && err == nil
}

func (p processHandle) Close() error { return windows.CloseHandle(windows.Handle(p)) }
