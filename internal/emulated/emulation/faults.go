// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"context"
	"errors"

	api "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/faults"
)

func (h *Harness) addFault(_ context.Context, r *api.AddFaultRequest) (*api.AddFaultResponse, error) {
	fault, err := faults.Parse(r.GetFault())
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
			Id: s.ID, Fault: s.Fault.Message(), Disturbed: s.Disturbed, Holding: s.Holding,
		})
	}
	return response, nil
}

func (h *Harness) removeFault(_ context.Context, r *api.RemoveFaultRequest) (*api.RemoveFaultResponse, error) {
	if r.GetId() == 0 {
		h.Faults.Release()
	} else if !h.Faults.Remove(r.GetId()) {
		return nil, errdefs.NotFound.Errorf("NOT_FOUND", "there is no fault %d", r.GetId())
	}
	return &api.RemoveFaultResponse{}, nil
}
