// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"errors"
	"sync"

	"golang.org/x/sys/windows"
)

// scm is the process's connection to the local Service Control Manager, made by the first call that needs it and kept:
// each call to the manager is one to another process, and a connection made and closed for each query would be a third
// of them. Services' own handles are closed after each use, because a service with an open handle cannot be deleted.
var scm serviceConnection

// A serviceConnection is safe for use by several callers at once.
type serviceConnection struct {
	mu     sync.Mutex
	handle windows.Handle // 0: none
}

// get returns the connection, which only has the right to connect. A new one is made in the place of a broken one,
// which stays open, since others may be using it: what a manager that has gone held for it has gone as well.
func (c *serviceConnection) get(broken windows.Handle) (windows.Handle, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.handle != broken {
		return c.handle, nil
	}
	handle, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_CONNECT)
	if err != nil {
		return 0, failure("OpenSCManagerW", "", err)
	}
	c.handle = handle
	return handle, nil
}

// openService opens a service.
//
// https://learn.microsoft.com/windows/win32/api/winsvc/nf-winsvc-openservicew
func (c *serviceConnection) openService(name string, rights uint32) (windows.Handle, error) {
	const function = "OpenServiceW"
	name16, err := wide(function, name)
	if err != nil {
		return 0, err
	}
	connection, err := c.get(0)
	if err != nil {
		return 0, err
	}
	service, err := windows.OpenService(connection, name16, rights)
	if isBroken(err) {
		if connection, err = c.get(connection); err != nil {
			return 0, err
		}
		service, err = windows.OpenService(connection, name16, rights)
	}
	return service, failure(function, name, err)
}

// isBroken reports whether an error means that the manager behind a connection has gone, such as by a restart of the
// process.
func isBroken(err error) bool {
	return errors.Is(err, windows.ERROR_INVALID_HANDLE) || errors.Is(err, windows.RPC_S_SERVER_UNAVAILABLE) ||
		errors.Is(err, windows.RPC_S_CALL_FAILED) || errors.Is(err, windows.RPC_S_CALL_FAILED_DNE)
}
