// SPDX-License-Identifier: Apache-2.0

package csiproxy

import (
	"google.golang.org/grpc"

	"github.com/kubernetes-csi/csi-proxy/client/calls"
)

// A Client calls one agent. It is safe for concurrent use. New makes one that connects to the agent of this node.
type Client = calls.Client

// An Error is the error of every call. status.FromError and status.Code understand it.
type Error = calls.Error

// Over returns a client whose calls all go through one connection that serves the newest version of every group, such
// as one to an agent in this process. The connection belongs to the caller, and Close leaves it open.
func Over(connection grpc.ClientConnInterface) *Client { return calls.Over(connection) }

// The kinds of failures that callers act on, which package calls describes: errors.Is(err, ErrNotMounted). The code of
// an Error is coarser, its Reason finer.
var (
	ErrNoAgent            = calls.ErrNoAgent
	ErrUnsupported        = calls.ErrUnsupported
	ErrNotMounted         = calls.ErrNotMounted
	ErrOtherVolumeMounted = calls.ErrOtherVolumeMounted
	ErrPathNotFound       = calls.ErrPathNotFound
	ErrPathExists         = calls.ErrPathExists
	ErrOutsideWorkingDirs = calls.ErrOutsideWorkingDirs
	ErrLink               = calls.ErrLink
	ErrDirectoryNotEmpty  = calls.ErrDirectoryNotEmpty
	ErrDiskNotFound       = calls.ErrDiskNotFound
	ErrAmbiguous          = calls.ErrAmbiguous
	ErrDiskTooSmall       = calls.ErrDiskTooSmall
	ErrNotFormatted       = calls.ErrNotFormatted
	ErrNearlyFull         = calls.ErrNearlyFull
	ErrVolumeNotFound     = calls.ErrVolumeNotFound
	ErrDiskOffline        = calls.ErrDiskOffline
	ErrDiskReadOnly       = calls.ErrDiskReadOnly
	ErrNoVolume           = calls.ErrNoVolume
	ErrSizeOutOfRange     = calls.ErrSizeOutOfRange
	ErrDamaged            = calls.ErrDamaged
	ErrNotBlank           = calls.ErrNotBlank
	ErrVolumeNotEmpty     = calls.ErrVolumeNotEmpty
	ErrStillRunning       = calls.ErrStillRunning
	ErrServiceNotFound    = calls.ErrServiceNotFound
	ErrServiceNotRunning  = calls.ErrServiceNotRunning
	ErrShareNotFound      = calls.ErrShareNotFound
	ErrOtherCredentials   = calls.ErrOtherCredentials
	ErrServerUnreachable  = calls.ErrServerUnreachable
	ErrCredentials        = calls.ErrCredentials
)
