// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// Class is the class of an error, which tells a caller what to do about it. The classes are gRPC's status codes under
// the same names, except that Unsupported is UNIMPLEMENTED.
type Class int

// The classes. The zero value is Internal: an unclassified error is a fault of ours.
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

// Error is the error of every operation of this package.
type Error struct {
	Class  Class
	Reason string // stable, for machines: reason.DiskNotFound
	// Message says what was asked, what was found and, where possible, what to do. It holds no secret.
	Message string
	Err     error // the cause, or nil; the code of a failed kernel call is a win32.Errno in it
}

func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

func errorf(class Class, why, format string, args ...any) *Error {
	return &Error{Class: class, Reason: why, Message: fmt.Sprintf(format, args...)}
}

// fail turns the error of a kernel call into an *Error that says what was being done. It returns an *Error unchanged.
func fail(err error, format string, args ...any) error {
	var already *Error
	if errors.As(err, &already) {
		return err
	}
	doing := fmt.Sprintf(format, args...)
	e := &Error{Reason: reason.Internal, Message: fmt.Sprintf("%s: %v", doing, err), Err: err}
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

// invalidPath returns the error for a path that the grammar refuses.
func invalidPath(err error) error {
	return &Error{Class: InvalidArgument, Reason: reason.InvalidPath, Message: err.Error(), Err: err}
}

// outside returns the error for a path that the grammar accepts but that lies outside the working directories.
func outside(err error) error {
	return &Error{Class: InvalidArgument, Reason: reason.OutsideWorkingDirs, Message: err.Error(), Err: err}
}

// abandoned returns the error for the caller of a change whose context ended first.
func abandoned(ctx context.Context, what string) error {
	return gaveUp(ctx, what, "the operation continues in the agent, and a repeated call joins or follows it")
}

// abandonedRead returns the error for the caller of a read whose context ended first.
func abandonedRead(ctx context.Context, what string) error {
	return gaveUp(ctx, what, "Windows has not answered yet; a repeated call asks again")
}

func gaveUp(ctx context.Context, what, next string) error {
	class, why := Canceled, "was cancelled by the caller"
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		class, why = DeadlineExceeded, "did not end within the call's deadline"
	}
	return &Error{
		Class: class, Reason: reason.StillRunning, Err: ctx.Err(),
		Message: fmt.Sprintf("%s %s; %s", what, why, next),
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
