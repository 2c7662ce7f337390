// SPDX-License-Identifier: Apache-2.0

package csiproxy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
)

// domain is the domain of the ErrorInfo that agents attach to their errors.
const domain = "csi-proxy"

// An Error is the error of every call. status.FromError and status.Code understand it.
type Error struct {
	Group   string // "volume"
	Version string // the version that was called: "v1beta2"; "" if none could be
	Method  string // of the newest version: "UnmountVolume"
	Code    codes.Code
	// Reason is stable and for machines: "DISK_NOT_FOUND". It is empty if the agent sends none.
	Reason string
	// Win32 is the Windows error code behind the failure, 0 if there is none or the agent sends none.
	Win32 uint32
	// Message is the agent's text: what was asked, what was found and, where possible, what to do.
	Message string

	noAgent bool
	server  bool           // does not answer: the server of the share whose sizes are asked for
	status  *status.Status // as received, or nil
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

// Unwrap returns the cause: a *versions.UnsupportedError, a *dial.Error, or gRPC's error.
func (e *Error) Unwrap() error { return e.err }

// GRPCStatus returns the agent's status, or one with the same code and text.
func (e *Error) GRPCStatus() *status.Status {
	if e.status != nil {
		return e.status
	}
	return status.New(e.Code, e.Error())
}

// Is reports whether the error is of the kind of one of this package's errors, or of a context's error: a call whose
// time is over is context.DeadlineExceeded, whether the client or the agent noticed it first.
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

// kind is an error that stands for a kind of errors.
type kind struct {
	text  string
	match func(*Error) bool
}

func (k *kind) Error() string { return k.text }

// because returns a kind of failure: agents name it by one of the reasons, or without a reason by one of the phrases.
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

// The failures that callers act on: errors.Is(err, ErrNotMounted). Error's Code is coarser, its Reason finer.
var (
	// ErrNoAgent: no agent answers on this node, its endpoint refuses this process, or the group's pipe is not here.
	ErrNoAgent error = &kind{text: "no csi-proxy agent", match: func(e *Error) bool { return e.noAgent }}
	// ErrUnsupported: the agent's version of the group does not support the call. The error names the version that does.
	// So is a call of nodesteps to an agent that answers for other groups alone: the original's agent has no such group.
	ErrUnsupported error = &kind{text: "not supported by the agent",
		match: func(e *Error) bool { return e.Code == codes.Unimplemented }}
	// ErrNotMounted: no volume is mounted at the path.
	ErrNotMounted = because("not mounted", []string{reason.NotMounted}, "because it does not exist")
	// ErrOtherVolumeMounted: another volume is mounted at the path.
	ErrOtherVolumeMounted = because("another volume is mounted", []string{reason.OtherVolumeMounted})
	// ErrPathNotFound: the path does not exist.
	ErrPathNotFound = because("path not found", []string{reason.PathNotFound})
	// ErrPathExists: another object is at the path.
	ErrPathExists = because("path exists", []string{reason.PathExists})
	// ErrOutsideWorkingDirs: the path is not below a working directory of the agent.
	ErrOutsideWorkingDirs = because("path outside the working directories", []string{reason.OutsideWorkingDirs},
		"is not within the working directories")
	// ErrLink: the path is a link, which the call refuses, or has one on the way that is not followed.
	ErrLink = because("link refused", []string{reason.LinkRefused})
	// ErrOnShare: the path lies on a share, or leads to one, where a volume is wanted, as by Expand.
	ErrOnShare = because("on a share", []string{reason.OnShare})
	// ErrDirectoryNotEmpty: the directory has entries.
	ErrDirectoryNotEmpty = because("directory not empty", []string{reason.DirectoryNotEmpty})
	// ErrDiskNotFound: no disk has this number, or the volume's disk is gone.
	ErrDiskNotFound = because("disk not found", []string{reason.DiskNotFound, reason.VolumeGone})
	// ErrAmbiguous: several disks match where only one is expected, or the disk has several data volumes.
	ErrAmbiguous = because("several disks match", []string{reason.AmbiguousDisk, reason.AmbiguousVolume})
	// ErrDiskTooSmall: Windows does not see the size that a volume is to have.
	ErrDiskTooSmall = because("the disk is too small", []string{reason.DiskTooSmall})
	// ErrNotFormatted: a volume that is measured, or staged read-only, has no file system.
	ErrNotFormatted = because("no file system", []string{reason.NotFormatted})
	// ErrVolumeNotFound: no volume has this id.
	ErrVolumeNotFound = because("volume not found", []string{reason.VolumeNotFound, reason.VolumeGone})
	// ErrDiskOffline: the disk must be brought online first.
	ErrDiskOffline = because("disk offline", []string{reason.DiskOffline})
	// ErrDiskReadOnly: the disk cannot be written.
	ErrDiskReadOnly = because("disk read-only", []string{reason.DiskReadOnly, "WRITE_PROTECT"})
	// ErrNoVolume: the disk has no partition table, or no partition for data.
	ErrNoVolume = because("no volume", []string{reason.DiskRaw, reason.NoDataPartition, reason.NoVolume})
	// ErrSizeOutOfRange: the volume cannot become so large; the disk must grow first.
	ErrSizeOutOfRange = because("size out of range", []string{reason.SizeOutOfRange})
	// ErrDamaged: the file system must be repaired first, with chkdsk.
	ErrDamaged = because("file system damaged", []string{"DISK_CORRUPT", "FILE_CORRUPT"})
	// ErrNotBlank: the disk or volume is not blank and is not overwritten.
	ErrNotBlank = because("not blank", []string{reason.DiskNotBlank, reason.VolumeNotBlank})
	// ErrVolumeNotEmpty: the volume's file system holds files, and the agent does not erase files.
	ErrVolumeNotEmpty = because("volume not empty", []string{reason.VolumeNotEmpty})
	// ErrDenied: the operator's policy forbids the call; the text names the rule. Repeating it does not help.
	ErrDenied = because("denied by the policy", []string{reason.Policy})
	// ErrStillRunning: the call's time is over and the agent is still working on it. Repeating a change joins it.
	ErrStillRunning = because("still running", []string{reason.StillRunning})
	// ErrServiceNotFound: Windows has no such service.
	ErrServiceNotFound = because("service not found", []string{reason.ServiceNotFound})
	// ErrServiceNotRunning: a Windows service that the call needs is stopped.
	ErrServiceNotRunning = because("service not running", []string{reason.ServiceNotRunning})
	// ErrShareNotFound: the SMB server has no such share.
	ErrShareNotFound = because("share not found", []string{reason.BadNetName})
	// ErrOtherCredentials: the node has a session with the SMB server under other credentials; the text names its share.
	ErrOtherCredentials = because("session with other credentials",
		[]string{reason.SessionCredentialConflict, "ALREADY_ASSIGNED"})
	// ErrServerUnreachable: the SMB server does not answer. A mapping that there was is kept.
	ErrServerUnreachable error = &kind{text: "server unreachable", match: func(e *Error) bool {
		return e.server || (e.Group == "smb" || e.Method == "StageShare") && e.Code == codes.Unavailable && e.Reason != ""
	}}
	// ErrCredentials: the SMB server or iSCSI target refuses the credentials.
	ErrCredentials error = &kind{text: "credentials refused",
		match: func(e *Error) bool { return e.Code == codes.Unauthenticated }}
)

// failed returns the *Error of a call that failed.
func failed(err error, group, version, method string) error {
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

// fromStatus fills in the fields from the agent's status.
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
