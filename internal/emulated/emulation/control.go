// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"math"
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
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/iscsi"
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

// Network returns the file servers and the iSCSI portals of an emulated node.
func Network(n *emulated.Node) *api.ListNetworkResponse {
	r := &api.ListNetworkResponse{}
	servers, portals, isCut := n.Network()
	for _, s := range servers {
		server := &api.FileServer{Name: s.Name, Stopped: s.Stopped}
		for _, share := range s.Shares {
			server.Shares = append(server.Shares, share.Name)
		}
		r.Servers = append(r.Servers, server)
	}
	for i, p := range portals {
		portal := &api.ISCSIPortal{Address: p.At.Address, Port: uint32(p.At.Port), Connected: !isCut[i]}
		for _, t := range p.Targets {
			portal.Targets = append(portal.Targets, t.Name)
		}
		r.Portals = append(r.Portals, portal)
	}
	return r
}

// networkMethods returns the methods that control the file servers and the iSCSI storage of an emulated node.
func networkMethods(n *emulated.Node) []server.Method {
	return []server.Method{
		answer("ListNetwork", node.LimitRead, func(*api.ListNetworkRequest) (*api.ListNetworkResponse, error) {
			return Network(n), nil
		}),
		change[api.SetSMBPasswordResponse]("SetSMBPassword", func(r *api.SetSMBPasswordRequest) error {
			return n.SetSMBPassword(r.GetUser(), r.GetPassword())
		}),
		change[api.SetSMBServerStateResponse]("SetSMBServerState", func(r *api.SetSMBServerStateRequest) error {
			return n.SetSMBServerRunning(r.GetServer(), r.GetRunning())
		}),
		change[api.AddSMBShareResponse]("AddSMBShare", func(r *api.AddSMBShareRequest) error {
			err := n.AddSMBShare(r.GetServer(), r.GetShare(), r.GetUsers())
			if err == nil {
				err = n.SetSMBShareSpace(r.GetServer(), r.GetShare(), r.GetSizeBytes(), r.GetQuotaBytes())
			}
			return err
		}),
		change[api.RemoveSMBShareResponse]("RemoveSMBShare", func(r *api.RemoveSMBShareRequest) error {
			return n.RemoveSMBShare(r.GetServer(), r.GetShare())
		}),
		change[api.AddSMBUserResponse]("AddSMBUser", func(r *api.AddSMBUserRequest) error {
			user := smb.User{Name: r.GetUser(), Domains: r.GetDomains(), Password: r.GetPassword()}
			return n.AddSMBUser(user)
		}),
		change[api.RemoveSMBUserResponse]("RemoveSMBUser", func(r *api.RemoveSMBUserRequest) error {
			return n.RemoveSMBUser(r.GetUser())
		}),
		change[api.DropSMBSessionsResponse]("DropSMBSessions", func(r *api.DropSMBSessionsRequest) error {
			return n.DropSMBSessions(r.GetServer())
		}),
		change[api.SetISCSIPortalStateResponse]("SetISCSIPortalState", func(r *api.SetISCSIPortalStateRequest) error {
			port := cmp.Or(r.GetPort(), iscsi.DefaultPort)
			if port > math.MaxUint16 {
				return invalid("the port %d is more than %d", port, math.MaxUint16)
			}
			return n.SetISCSIPortal(r.GetAddress(), uint16(port), r.GetConnected())
		}),
		change[api.DropISCSISessionResponse]("DropISCSISession", func(r *api.DropISCSISessionRequest) error {
			return n.DropISCSISession(r.GetTarget())
		}),
	}
}

// systemMethods returns the methods that control the services and the switches of an emulated node.
func systemMethods(n *emulated.Node) []server.Method {
	return []server.Method{
		answer("ListServices", node.LimitRead, func(*api.ListServicesRequest) (*api.ListServicesResponse, error) {
			response := &api.ListServicesResponse{}
			for _, s := range n.Services() {
				response.Services = append(response.Services, &api.NodeService{
					Name: s.Name, State: api.ServiceState(s.State), Start: api.ServiceStart(s.StartType + 1), // 0 is unspecified
					PendingQueries: uint32(s.PendingQueries),
				})
			}
			return response, nil
		}),
		change[api.SetServiceResponse]("SetService", func(r *api.SetServiceRequest) error {
			return n.SetService(r.GetName(), serviceChange(r))
		}),
		answer("ListSwitches", node.LimitRead, func(*api.ListSwitchesRequest) (*api.ListSwitchesResponse, error) {
			response := &api.ListSwitchesResponse{}
			for _, s := range n.Switches() {
				response.Switches = append(response.Switches,
					&api.Switch{Name: s.Name, Value: s.Value, Form: s.Form})
			}
			return response, nil
		}),
		change[api.SetSwitchResponse]("SetSwitch", func(r *api.SetSwitchRequest) error {
			return n.SetSwitch(r.GetName(), r.GetValue())
		}),
	}
}

// serviceChange returns the change that a request asks for.
func serviceChange(r *api.SetServiceRequest) (c services.Change) {
	if r.GetState() != api.ServiceState_SERVICE_STATE_UNSPECIFIED {
		c.State = new(uint32(r.GetState()))
	}
	if r.GetStart() != api.ServiceStart_SERVICE_START_UNSPECIFIED {
		c.StartType = new(uint32(r.GetStart() - 1))
	}
	if r.PendingQueries != nil {
		c.PendingQueries = new(int(r.GetPendingQueries()))
	}
	return c
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
