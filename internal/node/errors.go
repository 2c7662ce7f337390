// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// Class is what a caller can do about an error. The classes are those of gRPC's status codes under the same names,
// Unsupported being UNIMPLEMENTED.
type Class int

// The classes. The zero value is Internal: an error that nobody classified is ours.
const (
	Internal Class = iota
	InvalidArgument
	NotFound
	AlreadyExists
	PermissionDenied
	Unauthenticated
	FailedPrecondition
	OutOfRange
	ResourceExhausted
	Unavailable
	Unsupported
	DeadlineExceeded
	DataLoss
	Canceled
)

// Error is what every operation of this package fails with.
type Error struct {
	Class  Class
	Reason string // stable, for machines: "DISK_NOT_FOUND"
	// Message says what was asked, what was found and, where there is something, what to do. It holds no secret.
	Message string
	Err     error // the cause, or nil; the code of a failed kernel call is a win32.Errno in it
}

func (e *Error) Error() string { return e.Message }

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Reasons that more than one operation gives, or that callers tell apart.
const (
	ReasonNotMounted   = "NOT_MOUNTED"
	ReasonOutside      = "PATH_OUTSIDE_WORKING_DIRECTORIES"
	ReasonInvalidPath  = "INVALID_PATH"
	ReasonLinkRefused  = "LINK_REFUSED"
	ReasonDiskNotBlank = "DISK_NOT_BLANK"
	ReasonDiskNotFound = "DISK_NOT_FOUND"
	ReasonDiskOffline  = "DISK_OFFLINE"
	ReasonSystemDisk   = "SYSTEM_DISK"
	ReasonPathNotFound = "PATH_NOT_FOUND"
	ReasonWorkingDir   = "WORKING_DIRECTORY_ITSELF"
	ReasonNotADir      = "NOT_A_DIRECTORY"
	ReasonVolumeID     = "INVALID_VOLUME_ID"
	ReasonStillRunning = "STILL_RUNNING"
)

func errorf(class Class, reason, format string, args ...any) *Error {
	return &Error{Class: class, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// fail turns the error of a kernel call into an *Error that says what was being done. An *Error stays as it is.
func fail(err error, format string, args ...any) error {
	var already *Error
	if errors.As(err, &already) {
		return err
	}
	doing := fmt.Sprintf(format, args...)
	e := &Error{Reason: "INTERNAL", Message: fmt.Sprintf("%s: %v", doing, err), Err: err}
	var code win32.Errno
	if errors.As(err, &code) {
		e.Class = classOf(code)
		e.Reason = fmt.Sprintf("WIN32_%d", uint32(code))
		if name := code.Name(); name != "" {
			e.Reason = strings.TrimPrefix(name, "ERROR_")
		}
	}
	return e
}

// invalidPath is a path that the grammar refuses.
func invalidPath(err error) error {
	return &Error{Class: InvalidArgument, Reason: ReasonInvalidPath, Message: err.Error(), Err: err}
}

// outside is a path that the grammar accepts and the working directories do not hold.
func outside(err error) error {
	return &Error{Class: InvalidArgument, Reason: ReasonOutside, Message: err.Error(), Err: err}
}

// abandoned is what a caller gets whose context ended first.
func abandoned(ctx context.Context, what string) error {
	class, why := Canceled, "was cancelled by the caller"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		class, why = DeadlineExceeded, "did not end within the call's deadline"
	}
	return &Error{
		Class: class, Reason: ReasonStillRunning, Err: ctx.Err(),
		Message: fmt.Sprintf("%s %s; what has begun goes on in the agent, and a repeated call joins or follows it", what, why),
	}
}

func hasCode(err error, codes ...win32.Errno) bool {
	var code win32.Errno
	if !errors.As(err, &code) {
		return false
	}
	for _, c := range codes {
		if code == c {
			return true
		}
	}
	return false
}
