// SPDX-License-Identifier: Apache-2.0

// Package errdefs has the one error type of the agent: what an operation says about its failure.
package errdefs

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// Class is the class of an error, which tells a caller what to do about it: a status code of gRPC.
type Class codes.Code

// The classes. The zero value counts as Internal: an unclassified error is a fault of ours.
const (
	Internal           = Class(codes.Internal)
	InvalidArgument    = Class(codes.InvalidArgument)
	NotFound           = Class(codes.NotFound)
	AlreadyExists      = Class(codes.AlreadyExists)
	PermissionDenied   = Class(codes.PermissionDenied)
	Unauthenticated    = Class(codes.Unauthenticated)
	FailedPrecondition = Class(codes.FailedPrecondition)
	OutOfRange         = Class(codes.OutOfRange)
	ResourceExhausted  = Class(codes.ResourceExhausted)
	Unavailable        = Class(codes.Unavailable)
	Unsupported        = Class(codes.Unimplemented)
	DeadlineExceeded   = Class(codes.DeadlineExceeded)
	DataLoss           = Class(codes.DataLoss)
	Canceled           = Class(codes.Canceled)
)

// Error is the error of every operation.
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

// Errorf returns an error of the class without a cause.
func (c Class) Errorf(why, format string, args ...any) *Error {
	return &Error{Class: c, Reason: why, Message: fmt.Sprintf(format, args...)}
}

// WrapErrorf returns an error of the class with a cause, which the message does not repeat.
func (c Class) WrapErrorf(cause error, why, format string, args ...any) *Error {
	e := c.Errorf(why, format, args...)
	e.Err = cause
	return e
}

// Errorf turns the error of a kernel call into an *Error that says what was being done; the code decides class and
// reason. It returns an *Error unchanged; nil stays nil.
func Errorf(err error, format string, args ...any) error {
	if err == nil {
		return nil
	}
	var already *Error
	if errors.As(err, &already) {
		return err
	}
	e := Internal.WrapErrorf(err, reason.Internal, "%s: %v", fmt.Sprintf(format, args...), err)
	var code win32.Errno
	if errors.As(err, &code) {
		e.Class = classOf(code)
		e.Reason = fmt.Sprintf("WIN32_%d", uint32(code))
		if name := code.Name(); name != "" {
			e.Reason = strings.ToUpper(strings.TrimPrefix(name, "ERROR_"))
		}
		e.Message += DFSHint(err)
	}
	return e
}

// DFSHint returns the end of the text for the answer of a DFS namespace's folder behind a global mapping, "" for other
// errors: https://github.com/microsoft/Windows-Containers/issues/299
func DFSHint(err error) string {
	if !HasCode(err, win32.ERROR_NETWORK_UNREACHABLE, win32.ERROR_HOST_UNREACHABLE) {
		return ""
	}
	return "; if it is a DFS namespace: Windows does not support DFS folders behind global mappings, so give the file " +
		"server's own share"
}

// HasCode reports whether an error has one of the codes in it.
func HasCode(err error, codes ...win32.Errno) bool {
	var code win32.Errno
	return errors.As(err, &code) && slices.Contains(codes, code)
}

// HasReason reports whether an error of an operation has one of the reasons.
func HasReason(err error, reasons ...string) bool {
	var e *Error
	return errors.As(err, &e) && slices.Contains(reasons, e.Reason)
}

// IsUnanswered reports whether Windows has given no answer in time.
func IsUnanswered(err error) bool { return HasReason(err, reason.StillRunning, reason.NotAnswering) }

// IsMissing reports whether an error means that a path leads nowhere.
func IsMissing(err error) bool {
	return HasCode(err, win32.ERROR_FILE_NOT_FOUND, win32.ERROR_PATH_NOT_FOUND)
}

// IsDenied reports whether an error means that the account has no right to do this, perhaps after a successful logon.
func IsDenied(err error) bool {
	cause, _ := SMB(err)
	return cause == SMBShareDenied
}
