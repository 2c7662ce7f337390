// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"google.golang.org/protobuf/types/known/emptypb"

	api "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/strictyaml"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// control returns the service of the admin endpoint by which the node is changed, broken and rebooted.
func (a *Agent) control(served *agent.Agent) []server.Service {
	a.Agent = served // which begins before agent.Start returns
	return []server.Service{{Name: api.EmulatedNode_ServiceDesc.ServiceName, Methods: append(verbs(a.Emulated),
		answer("AddFault", node.LimitWrite, a.addFault),
		answer("ListFaults", node.LimitRead, a.listFaults),
		change("RemoveFault", node.LimitWrite, a.removeFault),
		server.Unary("ListJournal", 2*journalWait, a.ListJournal),
		server.Unary("Reboot", node.LimitLong,
			func(context.Context, *api.RebootRequest) (*emptypb.Empty, error) {
				return &emptypb.Empty{}, a.Restart()
			}),
		change("SaveNode", node.LimitLong,
			func(r *api.SaveNodeRequest) error { return a.Emulated.Save(r.GetDirectory(), r.GetClone()) }),
		change("RestoreNode", node.LimitLong,
			func(r *api.RestoreNodeRequest) error { return a.Restore(r.GetDirectory()) }),
	)}}
}

// Restart reboots the node; its agent cuts calls off as a reboot does, and then serves again, whatever the caller's
// deadline is. While the host would not let the node come back, it does nothing.
func (a *Agent) Restart() error {
	if err := a.Emulated.CanReboot(); err != nil {
		return errdefs.FailedPrecondition.WrapErrorf(err, "NOT_POSSIBLE",
			"not rebooted: its host keeps the emulated node from coming back: %v; csi-proxyctl doctor looks at the host", err)
	}
	return a.Interrupt(context.Background(), a.abort, a.Emulated.Reboot)
}

// Restore makes the node what was saved in a directory, and serves it again, as Restart does.
func (a *Agent) Restore(directory string) error {
	if err := a.Emulated.PrepareRestore(directory); err != nil {
		return err
	}
	return a.Interrupt(context.Background(), a.abort, a.Emulated.Restore)
}

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
	e := errdefs.FailedPrecondition.WrapErrorf(err, "NOT_POSSIBLE", "%v", err)
	var classed *errdefs.Error
	var written *strictyaml.Error
	switch {
	case errors.As(err, &classed): // perhaps with its place in a document
		e.Class, e.Reason = classed.Class, classed.Reason
	case errors.As(err, &written): // of a document, which has no lines
		e.Class, e.Reason, e.Message = errdefs.InvalidArgument, "INVALID_ARGUMENT", written.Problem
	case errdefs.IsMissing(err), errors.Is(err, fs.ErrNotExist):
		e.Class, e.Reason = errdefs.NotFound, "NOT_FOUND"
	case errdefs.HasCode(err, win32.ERROR_INVALID_PARAMETER, win32.ERROR_INVALID_NAME):
		e.Class, e.Reason = errdefs.InvalidArgument, "INVALID_ARGUMENT"
	}
	return e
}
