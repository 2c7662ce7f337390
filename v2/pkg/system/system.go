// SPDX-License-Identifier: Apache-2.0

package system

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/servicewords"
)

// Startype is the name of StartType in v2.0.0-alpha.1.
type Startype = StartType

// GetService returns the configuration and the state of a service.
func (s *System) GetService(ctx context.Context, request *GetServiceRequest) (*GetServiceResponse, error) {
	info, err := s.within(ctx).GetService(request.Name)
	if err != nil {
		return &GetServiceResponse{}, err
	}
	return &GetServiceResponse{
		DisplayName: info.DisplayName,
		StartType:   StartType(servicewords.StartModes().Number(info.StartType)),
		Status:      ServiceStatus(servicewords.States().Number(info.Status)),
	}, nil
}
