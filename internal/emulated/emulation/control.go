// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/emptypb"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/strictyaml"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/faults"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/services"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
)

// answer returns a method of the node's control.
func answer[Request, Response any](name string, limit time.Duration,
	do func(*Request) (*Response, error)) server.Method {
	return server.Unary(name, limit, func(_ context.Context, r *Request) (*Response, error) {
		response, err := do(r)
		return response, controlError(err)
	})
}

// change returns a method that changes the node and answers no more.
func change[Request any](name string, limit time.Duration, do func(*Request) error) server.Method {
	return answer(name, limit, func(r *Request) (*emptypb.Empty, error) { return &emptypb.Empty{}, do(r) })
}

func invalid(format string, args ...any) error {
	return errdefs.InvalidArgument.Errorf("INVALID_ARGUMENT", format, args...)
}

// controlError classifies an error of controlling the emulated node.
func controlError(err error) error {
	if err == nil {
		return nil
	}
	if classed, is := errors.AsType[*errdefs.Error](err); is { // perhaps with its place in a document
		return &errdefs.Error{Class: classed.Class, Reason: classed.Reason, Message: err.Error(), Err: err}
	}
	if written, is := errors.AsType[*strictyaml.Error](err); is { // of a document, which has no lines
		return &errdefs.Error{Class: errdefs.InvalidArgument, Reason: "INVALID_ARGUMENT", Message: written.Problem, Err: err}
	}
	class, reason := errdefs.FailedPrecondition, "NOT_POSSIBLE"
	switch {
	case isAny(err, smb.ErrNoSuch, services.ErrNoSuch, win32.ERROR_FILE_NOT_FOUND, win32.ERROR_PATH_NOT_FOUND,
		fs.ErrNotExist):
		class, reason = errdefs.NotFound, "NOT_FOUND"
	case errors.Is(err, faults.ErrInvalid):
		class, reason = errdefs.InvalidArgument, "INVALID_FAULT"
	case isAny(err, bundle.ErrInvalid, smb.ErrInvalid, services.ErrInvalid, win32.ERROR_INVALID_PARAMETER,
		win32.ERROR_INVALID_NAME):
		class, reason = errdefs.InvalidArgument, "INVALID_ARGUMENT"
	}
	return &errdefs.Error{Class: class, Reason: reason, Message: err.Error(), Err: err}
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}
