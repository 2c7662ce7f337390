// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"context"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
)

// systemMethods returns the methods that control the services, the switches and the clock of an emulated node.
func systemMethods(n *emulated.Node) []server.Method {
	return []server.Method{
		server.Unary("ListServices", server.LimitRead,
			func(context.Context, *api.ListServicesRequest) (*api.ListServicesResponse, error) {
				response := &api.ListServicesResponse{}
				for _, s := range n.Services() {
					response.Services = append(response.Services, &api.NodeService{
						Name: s.Name, State: api.ServiceState(s.State), Start: api.ServiceStart(s.StartType + 1), // 0 is unspecified
						PendingQueries: uint32(s.PendingQueries), PendingTime: durationpb.New(s.PendingTime),
					})
				}
				return response, nil
			}),
		server.Unary("SetService", server.LimitWrite,
			func(_ context.Context, r *api.SetServiceRequest) (*api.SetServiceResponse, error) {
				change, err := serviceChange(r)
				if err == nil {
					err = controlError(n.SetService(r.GetName(), change))
				}
				return &api.SetServiceResponse{}, err
			}),
		server.Unary("ListSwitches", server.LimitRead,
			func(context.Context, *api.ListSwitchesRequest) (*api.ListSwitchesResponse, error) {
				response := &api.ListSwitchesResponse{}
				for _, s := range n.Switches() {
					response.Switches = append(response.Switches,
						&api.Switch{Name: s.Name, Value: s.Value, Form: s.Form, About: s.About})
				}
				return response, nil
			}),
		server.Unary("SetSwitch", server.LimitWrite,
			func(_ context.Context, r *api.SetSwitchRequest) (*api.SetSwitchResponse, error) {
				return &api.SetSwitchResponse{}, controlError(n.SetSwitch(r.GetName(), r.GetValue()))
			}),
		server.Unary("GetClock", server.LimitRead,
			func(context.Context, *api.GetClockRequest) (*api.GetClockResponse, error) {
				now, stopped := n.Clock()
				return &api.GetClockResponse{Now: timestamppb.New(now), Stopped: stopped}, nil
			}),
		server.Unary("SetClock", server.LimitWrite,
			func(_ context.Context, r *api.SetClockRequest) (*api.SetClockResponse, error) {
				change := emulated.ClockChange{Advance: r.GetAdvance().AsDuration(), Stopped: r.Stopped}
				if r.GetTo() != nil {
					change.To = r.GetTo().AsTime()
				}
				now, err := n.SetClock(change)
				return &api.SetClockResponse{Now: timestamppb.New(now)}, controlError(err)
			}),
	}
}

// serviceChange returns the change that a request asks for.
func serviceChange(r *api.SetServiceRequest) (c emulated.ServiceChange, err error) {
	if r.GetState() != api.ServiceState_SERVICE_STATE_UNSPECIFIED {
		c.State = new(uint32(r.GetState()))
	}
	if r.GetStart() != api.ServiceStart_SERVICE_START_UNSPECIFIED {
		c.StartType = new(uint32(r.GetStart() - 1))
	}
	if r.PendingQueries != nil {
		c.PendingQueries = new(int(r.GetPendingQueries()))
	}
	if d := r.GetPendingTime(); d != nil {
		if err := d.CheckValid(); err != nil {
			return c, invalid("the pending time is not a valid duration: %v", err)
		}
		c.PendingTime = new(d.AsDuration())
	}
	return c, nil
}
