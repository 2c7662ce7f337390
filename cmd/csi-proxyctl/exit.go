// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
)

// Exit codes. They are part of the interface: scripts rely on them.
const (
	exitOK           = 0
	exitFailed       = 1
	exitUsage        = 2
	exitUnavailable  = 3
	exitNotFound     = 4
	exitRefused      = 5
	exitUnsupported  = 6
	exitTimeout      = 7
	exitNotConfirmed = 8
)

const exitCodesText = `Exit codes:
  0  done
  1  failed; for doctor: it found something
  2  wrong usage: a command, a flag or an argument
  3  no agent can be reached, or something that it needs does not answer
  4  the named object does not exist
  5  refused because of the state of the node, a rule or wrong credentials
  6  this agent cannot do it: its version is too old, or its node is not an emulated one
  7  out of time; the agent completes a change that has begun
  8  not confirmed: nothing was done`

// failure is an error that is not about usage. All other errors come from cobra.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// refused is the refusal of a call that was not made.
type refused struct{ error }

// errNotConfirmed ends a command that would have destroyed something and was not confirmed.
var errNotConfirmed = errors.New(
	"not confirmed, nothing was done; give --yes to do it without asking, or --dry-run to see what would be done")

// errFound ends doctor if it found something, which it has printed.
var errFound = errors.New("")

// exitCode returns the exit code of a command that ended with err, which may be nil.
func exitCode(err error) int {
	switch {
	case err == nil:
		return exitOK
	case !errors.As(err, new(failure)):
		return exitUsage
	case errors.Is(err, errNotConfirmed):
		return exitNotConfirmed
	case errors.As(err, new(refused)):
		return exitRefused
	case errors.As(err, new(*dial.Error)), errors.Is(err, csiproxy.ErrNoAgent):
		return exitUnavailable
	}
	s, ok := status.FromError(err)
	if !ok {
		return exitFailed
	}
	switch s.Code() {
	case codes.Unavailable:
		return exitUnavailable
	case codes.NotFound:
		return exitNotFound
	case codes.InvalidArgument, codes.FailedPrecondition, codes.AlreadyExists, codes.OutOfRange,
		codes.PermissionDenied, codes.Unauthenticated:
		return exitRefused
	case codes.Unimplemented:
		return exitUnsupported
	case codes.DeadlineExceeded:
		return exitTimeout
	default:
		return exitFailed
	}
}
