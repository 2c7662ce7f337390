// SPDX-License-Identifier: Apache-2.0

package csiproxy

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
)

// domain is that of the ErrorInfo which agents attach to their errors.
const domain = "csi-proxy"

// An Error is what every call fails with. status.FromError and status.Code understand it.
type Error struct {
	Group   string // "volume"
	Version string // that was called: "v1beta2"; "" when none could be
	Method  string // of the newest version: "UnmountVolume"
	Code    codes.Code
	// Reason is stable and for machines: "DISK_NOT_FOUND". It is empty with agents that send none.
	Reason string
	// Win32 is the Windows error code behind the failure, 0 when there is none or the agent sends none.
	Win32 uint32
	// Message is the agent's text: what was asked, what was found, and where there is something, what to do.
	Message string

	noAgent bool
	status  *status.Status // as it came; nil when none came
	err     error
}

// Error says which call failed and why.
func (e *Error) Error() string {
	call := e.Group
	if e.Version != "" {
		call += " " + e.Version
	}
	if e.Method != "" {
		call += " " + e.Method
	}
	return call + ": " + e.Message
}

// Unwrap gives the cause: a *versions.UnsupportedError, a *dial.Error, or what gRPC returned.
func (e *Error) Unwrap() error { return e.err }

// GRPCStatus is the status that the agent sent, or one with the same code and text.
func (e *Error) GRPCStatus() *status.Status {
	if e.status != nil {
		return e.status
	}
	return status.New(e.Code, e.Error())
}

// Is reports whether the error is of the kind of one of this package's errors, or of one of a context: a call whose time
// is over is context.DeadlineExceeded, whoever noticed it first.
func (e *Error) Is(target error) bool {
	switch target {
	case context.DeadlineExceeded:
		return e.Code == codes.DeadlineExceeded
	case context.Canceled:
		return e.Code == codes.Canceled
	}
	k, ok := target.(*kind)
	return ok && k.match(e)
}

// kind is an error that stands for many.
type kind struct {
	text  string
	match func(*Error) bool
}

func (k *kind) Error() string { return k.text }

// because is a kind of failure that agents name by a reason, or that has one of the given phrases in the texts of agents
// that send no reason.
func because(text string, reasons []string, phrases ...string) error {
	return &kind{text: text, match: func(e *Error) bool {
		if e.Reason != "" {
			return slices.Contains(reasons, e.Reason)
		}
		for _, phrase := range phrases {
			if strings.Contains(e.Message, phrase) {
				return true
			}
		}
		return false
	}}
}

// The kinds of failures that callers act on: errors.Is(err, ErrNotMounted). The code of an Error tells more coarsely,
// its Reason more finely.
var (
	// ErrNoAgent: no agent serves the group on this node, or its endpoint refuses this process.
	ErrNoAgent error = &kind{text: "no csi-proxy agent", match: func(e *Error) bool { return e.noAgent }}
	// ErrUnsupported: the agent's version of the group cannot do it. The error names the version that can.
	ErrUnsupported error = &kind{text: "not supported by the agent", match: func(e *Error) bool { return e.Code == codes.Unimplemented }}
	// ErrNotMounted: there is no volume at the path.
	ErrNotMounted = because("not mounted", []string{reason.NotMounted}, "because it does not exist")
	// ErrOtherVolumeMounted: there is another volume at the path.
	ErrOtherVolumeMounted = because("another volume is mounted", []string{reason.OtherVolumeMounted})
	// ErrPathNotFound: the path does not exist.
	ErrPathNotFound = because("path not found", []string{reason.PathNotFound})
	// ErrPathExists: something else is at the path.
	ErrPathExists = because("path exists", []string{reason.PathExists})
	// ErrOutsideWorkingDirs: the path is not below a directory that the agent works in.
	ErrOutsideWorkingDirs = because("path outside the working directories", []string{reason.OutsideWorkingDirs}, "is not within the working directories")
	// ErrLink: there is a link where the call wants none, or one on the way that is not followed.
	ErrLink = because("link refused", []string{reason.LinkRefused})
	// ErrDirectoryNotEmpty: the directory has entries.
	ErrDirectoryNotEmpty = because("directory not empty", []string{reason.DirectoryNotEmpty})
	// ErrDiskNotFound: no disk has the number, or the volume's disk is gone.
	ErrDiskNotFound = because("disk not found", []string{reason.DiskNotFound, reason.VolumeGone})
	// ErrVolumeNotFound: no volume has the id.
	ErrVolumeNotFound = because("volume not found", []string{reason.VolumeNotFound, reason.VolumeGone})
	// ErrDiskOffline: the disk has to be brought online first.
	ErrDiskOffline = because("disk offline", []string{reason.DiskOffline})
	// ErrNotBlank: a disk or volume that holds something is not overwritten.
	ErrNotBlank = because("not blank", []string{reason.DiskNotBlank, reason.VolumeNotBlank})
	// ErrStillRunning: the call's time is over and the agent still works on it. Repeating a call that changes something joins
	// it.
	ErrStillRunning = because("still running", []string{reason.StillRunning})
	// ErrServiceNotFound: Windows has no such service.
	ErrServiceNotFound = because("service not found", []string{reason.ServiceNotFound})
	// ErrServiceNotRunning: a Windows service that the call needs is stopped.
	ErrServiceNotRunning = because("service not running", []string{reason.ServiceNotRunning})
	// ErrCredentials: the SMB server or iSCSI target refuses the credentials.
	ErrCredentials error = &kind{text: "credentials refused", match: func(e *Error) bool { return e.Code == codes.Unauthenticated }}
)

var (
	errNoEndpoint = errors.New("none of its pipes exists on this node; see that the csiproxy service or DaemonSet runs and, in a container, that its pipes are mounted")
	errNoStreams  = status.Error(codes.Unimplemented, "the CSI Proxy API has no streams")
)

// typedPath is typed for a full method path.
func typedPath(err error, group, method string) error {
	if err == nil {
		return nil
	}
	version, _, _ := strings.Cut(strings.TrimPrefix(path.Dir(method), "/"), ".")
	return typed(err, group, version, path.Base(method))
}

// typed makes an *Error of whatever a call failed with.
func typed(err error, group, version, method string) error {
	e := &Error{Group: group, Version: version, Method: method, Code: codes.Unknown, Message: err.Error(), err: err}
	unsupported, argument := (*versions.UnsupportedError)(nil), (*versions.ArgumentError)(nil)
	switch s, isStatus := status.FromError(err); {
	case errors.As(err, &unsupported):
		e.Code = codes.Unimplemented
		e.Message = fmt.Sprintf("%v; the agent's newest is %s", err, version)
	case errors.As(err, &argument):
		e.Code, e.Message = codes.Internal, "the agent's answer makes no sense: "+err.Error()
	case isStatus:
		e.fromStatus(s)
	case errors.Is(err, context.DeadlineExceeded):
		e.Code = codes.DeadlineExceeded
	case errors.Is(err, context.Canceled):
		e.Code = codes.Canceled
	}
	return e
}

// fromStatus fills in what the agent sent.
func (e *Error) fromStatus(s *status.Status) {
	e.Code, e.Message, e.status = s.Code(), s.Message(), s
	for _, detail := range s.Details() {
		info, ok := detail.(*errdetails.ErrorInfo)
		if !ok || info.GetDomain() != domain {
			continue
		}
		e.Reason = info.GetReason()
		if n, err := strconv.ParseUint(info.GetMetadata()["win32"], 10, 32); err == nil {
			e.Win32 = uint32(n)
		}
	}
}

// isGone reports whether the connection broke, as opposed to an agent that says that something else is unavailable.
func isGone(err error) bool {
	e := (*Error)(nil)
	return errors.As(err, &e) && e.Code == codes.Unavailable && e.Reason == ""
}
