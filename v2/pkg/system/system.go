// SPDX-License-Identifier: Apache-2.0

package system

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/servicewords"
)

// ServiceStatus is the state of a service.
type ServiceStatus uint32

// The states. A pending one is on its way to another.
const (
	SERVICE_STATUS_UNKNOWN          ServiceStatus = 0
	SERVICE_STATUS_STOPPED          ServiceStatus = 1
	SERVICE_STATUS_START_PENDING    ServiceStatus = 2
	SERVICE_STATUS_STOP_PENDING     ServiceStatus = 3
	SERVICE_STATUS_RUNNING          ServiceStatus = 4
	SERVICE_STATUS_CONTINUE_PENDING ServiceStatus = 5
	SERVICE_STATUS_PAUSE_PENDING    ServiceStatus = 6
	SERVICE_STATUS_PAUSED           ServiceStatus = 7
)

// StartType is when a service starts.
type StartType uint32

// Startype is the name of StartType in v2.0.0-alpha.1.
type Startype = StartType

// The start types: by the boot loader, with the kernel, with Windows, on request, never.
const (
	START_TYPE_BOOT      StartType = 0
	START_TYPE_SYSTEM    StartType = 1
	START_TYPE_AUTOMATIC StartType = 2
	START_TYPE_MANUAL    StartType = 3
	START_TYPE_DISABLED  StartType = 4
)

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
