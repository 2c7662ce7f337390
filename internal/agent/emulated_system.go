// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
)

// systemMethods control the services, the switches and the clock of an emulated node.
func systemMethods(n *emulated.Node) []server.Method {
	return []server.Method{
		server.Unary("ListServices", server.LimitRead, func(context.Context, *admin.ListServicesRequest) (*admin.ListServicesResponse, error) {
			response := &admin.ListServicesResponse{}
			for _, s := range n.Services() {
				response.Services = append(response.Services, &admin.NodeService{
					Name: s.Name, State: admin.ServiceState(s.State), Start: admin.ServiceStart(s.StartType + 1), // 0 is unspecified
					PendingQueries: uint32(s.PendingQueries), PendingTime: durationpb.New(s.PendingTime),
				})
			}
			return response, nil
		}),
		server.Unary("SetService", server.LimitWrite, func(_ context.Context, r *admin.SetServiceRequest) (*admin.SetServiceResponse, error) {
			change, err := serviceChange(r)
			if err == nil {
				err = controlError(n.SetService(r.GetName(), change))
			}
			return &admin.SetServiceResponse{}, err
		}),
		server.Unary("ListSwitches", server.LimitRead, func(context.Context, *admin.ListSwitchesRequest) (*admin.ListSwitchesResponse, error) {
			list, err := n.Switches()
			response := &admin.ListSwitchesResponse{}
			for _, s := range list {
				response.Switches = append(response.Switches, &admin.Switch{Name: s.Name, Value: s.Value, Form: s.Form, About: s.About})
			}
			return response, err
		}),
		server.Unary("SetSwitch", server.LimitWrite, func(_ context.Context, r *admin.SetSwitchRequest) (*admin.SetSwitchResponse, error) {
			return &admin.SetSwitchResponse{}, controlError(n.SetSwitch(r.GetName(), r.GetValue()))
		}),
		server.Unary("GetClock", server.LimitRead, func(context.Context, *admin.GetClockRequest) (*admin.GetClockResponse, error) {
			now, stopped := n.Clock()
			return &admin.GetClockResponse{Now: timestamppb.New(now), Stopped: stopped}, nil
		}),
		server.Unary("SetClock", server.LimitWrite, func(_ context.Context, r *admin.SetClockRequest) (*admin.SetClockResponse, error) {
			change := emulated.ClockChange{Advance: r.GetAdvance().AsDuration(), Stopped: r.Stopped}
			if r.GetTo() != nil {
				change.To = r.GetTo().AsTime()
			}
			now, err := n.SetClock(change)
			return &admin.SetClockResponse{Now: timestamppb.New(now)}, controlError(err)
		}),
	}
}

// serviceChange is the change that a request asks for.
func serviceChange(r *admin.SetServiceRequest) (c emulated.ServiceChange, err error) {
	if r.GetState() != admin.ServiceState_SERVICE_STATE_UNSPECIFIED {
		state := uint32(r.GetState())
		c.State = &state
	}
	if r.GetStart() != admin.ServiceStart_SERVICE_START_UNSPECIFIED {
		start := uint32(r.GetStart() - 1)
		c.StartType = &start
	}
	if r.PendingQueries != nil {
		queries := int(r.GetPendingQueries())
		c.PendingQueries = &queries
	}
	if d := r.GetPendingTime(); d != nil {
		if err := d.CheckValid(); err != nil {
			return c, invalid("the pending time is no duration: %v", err)
		}
		pending := d.AsDuration()
		c.PendingTime = &pending
	}
	return c, nil
}
