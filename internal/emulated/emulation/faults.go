// SPDX-License-Identifier: Apache-2.0

package emulation

import (
	"context"

	api "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
)

func (h *Harness) addFault(r *api.AddFaultRequest) (*api.AddFaultResponse, error) {
	id, _, err := h.Faults.Add(r.GetFault())
	return &api.AddFaultResponse{Id: id}, err
}

// ListFaults answers the method of that name.
func (h *Harness) ListFaults(context.Context, *api.ListFaultsRequest) (*api.ListFaultsResponse, error) {
	return &api.ListFaultsResponse{Faults: h.Faults.List()}, nil
}

func (h *Harness) removeFault(r *api.RemoveFaultRequest) error {
	if r.GetId() == 0 {
		h.Faults.Release()
	} else if !h.Faults.Remove(r.GetId()) {
		return errdefs.NotFound.Errorf("NOT_FOUND", "there is no fault %d", r.GetId())
	}
	return nil
}
