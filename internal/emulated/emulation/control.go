// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"

	api "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/strictyaml"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
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
func change[Response, Request any](name string, do func(*Request) error) server.Method {
	return answer(name, node.LimitWrite, func(r *Request) (*Response, error) { return new(Response), do(r) })
}

// fileMethods returns the methods that find the files of an emulated node on the host.
func fileMethods(n *emulated.Node) []server.Method {
	return []server.Method{
		answer("GetPath", node.LimitRead, func(r *api.GetPathRequest) (*api.GetPathResponse, error) {
			path, err := n.HostPath(r.GetWindowsPath())
			return &api.GetPathResponse{HostPath: path}, err
		}),
		answer("Readlink", node.LimitRead, func(r *api.ReadlinkRequest) (*api.ReadlinkResponse, error) {
			target, err := n.Readlink(r.GetWindowsPath())
			return &api.ReadlinkResponse{Target: target}, err
		}),
		answer("GetAccess", node.LimitRead, func(r *api.GetAccessRequest) (*api.GetAccessResponse, error) {
			entries, err := n.RootAccess(strings.TrimSuffix(r.GetWindowsPath(), `\`) + `\`)
			response := &api.GetAccessResponse{}
			for _, e := range entries {
				response.Entries = append(response.Entries, &api.Access{Sid: string(e.SID), Mask: e.Mask,
					Inherited: e.Flags&(win32.OBJECT_INHERIT_ACE|win32.CONTAINER_INHERIT_ACE) != 0})
			}
			return response, err
		}),
	}
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
	case isAny(err, emulated.ErrNoSuchDisk, smb.ErrNoSuch, emulated.ErrNoSuchISCSI, services.ErrNoSuch,
		emulated.ErrNoSuchSwitch,
		win32.ERROR_FILE_NOT_FOUND, win32.ERROR_PATH_NOT_FOUND, fs.ErrNotExist):
		class, reason = errdefs.NotFound, "NOT_FOUND"
	case errors.Is(err, faults.ErrInvalid):
		class, reason = errdefs.InvalidArgument, "INVALID_FAULT"
	case isAny(err, bundle.ErrInvalid, smb.ErrInvalid, services.ErrInvalid, emulated.ErrInvalidSwitch,
		win32.ERROR_INVALID_PARAMETER, win32.ERROR_INVALID_NAME):
		class, reason = errdefs.InvalidArgument, "INVALID_ARGUMENT"
	}
	return &errdefs.Error{Class: class, Reason: reason, Message: err.Error(), Err: err}
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}
