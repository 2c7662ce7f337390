// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"context"
	"errors"
	"fmt"
	"math"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/durationpb"

	api "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/faults"
)

func (h *Harness) addFault(_ context.Context, r *api.AddFaultRequest) (*api.AddFaultResponse, error) {
	fault, err := faultOf(r.GetFault())
	var id uint64
	if err == nil {
		id, _, err = h.Faults.Add(fault)
	}
	switch {
	case errors.Is(err, faults.ErrNoCrash):
		return nil, &errdefs.Error{Class: errdefs.FailedPrecondition, Reason: "NOT_POSSIBLE", Message: err.Error(), Err: err}
	case err != nil:
		return nil, &errdefs.Error{Class: errdefs.InvalidArgument, Reason: "INVALID_FAULT", Message: err.Error(), Err: err}
	}
	return &api.AddFaultResponse{Id: id}, nil
}

// ListFaults answers the method of that name.
func (h *Harness) ListFaults(context.Context, *api.ListFaultsRequest) (*api.ListFaultsResponse, error) {
	response := &api.ListFaultsResponse{}
	for _, s := range h.Faults.List() {
		response.Faults = append(response.Faults, &api.FaultStatus{
			Id: s.ID, Fault: faultMessage(s.Fault), Disturbed: s.Disturbed, Holding: s.Holding,
		})
	}
	return response, nil
}

func (h *Harness) removeFault(_ context.Context, r *api.RemoveFaultRequest) (*api.RemoveFaultResponse, error) {
	if r.GetId() == 0 {
		h.Faults.Release()
	} else if !h.Faults.Remove(r.GetId()) {
		return nil, &errdefs.Error{Class: errdefs.NotFound, Reason: "NOT_FOUND",
			Message: fmt.Sprintf("there is no fault %d", r.GetId())}
	}
	return &api.RemoveFaultResponse{}, nil
}

// faultOf returns the fault that a message describes; Fault.Check validates the rest.
func faultOf(m *api.Fault) (f faults.Fault, err error) {
	f = faults.Fault{
		Function: m.GetFunction(), Code: m.GetControlCode(), Object: m.GetObject(), Method: m.GetMethod(),
		Skip: int(m.GetSkip()), Times: int(m.GetTimes()),
	}
	switch effect := m.GetEffect().(type) {
	case *api.Fault_Fail:
		f.Error, f.After = win32.Errno(effect.Fail.GetWin32Code()), effect.Fail.GetAfter()
	case *api.Fault_Status:
		code := effect.Status.GetCode()
		if code < 0 {
			code = math.MaxInt32 // not a code either, as Check says
		}
		f.Status = faults.APIError{Code: codes.Code(code), Message: effect.Status.GetMessage(),
			Reason: effect.Status.GetReason()}
		f.After = effect.Status.GetAfter()
	case *api.Fault_Cut:
		f.Cut, f.After = true, effect.Cut.GetAfter()
	case *api.Fault_Delay:
		f.Delay, err = delayOf(effect.Delay)
	case *api.Fault_Hang:
		f.Hang = true
	case *api.Fault_Crash:
		f.Crash, f.After = true, effect.Crash.GetAfter()
	}
	return f, err
}

func delayOf(m *api.Delay) (d faults.Delay, err error) {
	for _, end := range []*durationpb.Duration{m.GetMin(), m.GetMax()} {
		if err := end.CheckValid(); err != nil {
			return d, fmt.Errorf("%w: a delay needs both of its ends: %w", faults.ErrInvalid, err)
		}
	}
	return faults.Delay{Min: m.GetMin().AsDuration(), Max: m.GetMax().AsDuration()}, nil
}

// faultMessage returns a fault as the admin API sends it.
func faultMessage(f faults.Fault) *api.Fault {
	m := &api.Fault{
		Function: f.Function, ControlCode: f.Code, Object: f.Object, Method: f.Method,
		Skip: uint32(f.Skip), Times: uint32(f.Times),
	}
	switch {
	case f.Error != 0:
		m.Effect = &api.Fault_Fail{Fail: &api.Failure{Win32Code: uint32(f.Error), After: f.After}}
	case f.Status != faults.APIError{}:
		m.Effect = &api.Fault_Status{Status: &api.Status{
			Code: int32(f.Status.Code), Message: f.Status.Message, Reason: f.Status.Reason, After: f.After,
		}}
	case f.Cut:
		m.Effect = &api.Fault_Cut{Cut: &api.Cut{After: f.After}}
	case f.Hang:
		m.Effect = &api.Fault_Hang{Hang: &api.Hang{}}
	case f.Crash:
		m.Effect = &api.Fault_Crash{Crash: &api.Crash{After: f.After}}
	case !f.Panic:
		m.Effect = &api.Fault_Delay{Delay: &api.Delay{Min: durationpb.New(f.Delay.Min), Max: durationpb.New(f.Delay.Max)}}
	}
	return m
}
