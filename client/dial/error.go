// SPDX-License-Identifier: Apache-2.0

package dial

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// An Error means that no agent could be reached at an endpoint. Unwrap returns the cause, so that errors.Is
// distinguishes a missing endpoint (fs.ErrNotExist) from one that refuses the caller (fs.ErrPermission).
type Error struct {
	// Name is the pipe as Windows names it, or the path that the caller gave.
	Name string
	// Address is the path that was opened; off Windows a pipe's Address is a socket.
	Address string
	// Err is the cause.
	Err error
}

// Error names the endpoint, the cause, and what to do about it.
func (e *Error) Error() string {
	return fmt.Sprintf("dial csi-proxy agent at %s: %v; %s", e.Endpoint(), e.Err, advice(e.Err))
}

// Endpoint returns the name and, where the address differs, the address.
func (e *Error) Endpoint() string {
	if e.Address == e.Name {
		return e.Name
	}
	return e.Name + " (unix socket " + e.Address + ")"
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Causes for which the operating system has no error.
var (
	errBusy     = errors.New("all instances of the endpoint are busy")
	errNoAnswer = errors.New("the endpoint was opened, but its server does not speak gRPC or is stopping")
	errOwner    = errors.New("the endpoint belongs to another user than the agent's")
)

// advice returns what a person can do about cause.
func advice(cause error) string {
	switch {
	case errors.Is(cause, fs.ErrNotExist), errors.Is(cause, syscall.ECONNREFUSED):
		return "check that csi-proxy runs on this node and serves this API version, and that the endpoint is mounted into " +
			"this container"
	case errors.Is(cause, fs.ErrPermission):
		return "check that this process runs as a user that the agent admits: by default SYSTEM and administrators, off " +
			"Windows the agent's own user"
	case errors.Is(cause, errOwner):
		return "nothing was sent: find the process that took the agent's name, end it, and start csi-proxy again"
	case errors.Is(cause, errBusy), errors.Is(cause, context.DeadlineExceeded):
		return "check that csi-proxy on this node is not overloaded or stuck"
	case errors.Is(cause, syscall.EINVAL):
		return "check that the path is valid; that of a unix socket is limited to about 100 bytes"
	}
	return "check the state and the log of csi-proxy on this node"
}
