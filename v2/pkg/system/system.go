// SPDX-License-Identifier: Apache-2.0

package system

import (
	"context"
	"errors"

	systemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/system/hostapi"
)

// System is the services and firmware of a machine.
type System struct {
	hostAPI systemapi.HostAPI
}

// Interface is what System does.
type Interface interface {
	// GetBIOSSerialNumber returns the serial number that the firmware tells.
	GetBIOSSerialNumber(context.Context, *GetBIOSSerialNumberRequest) (*GetBIOSSerialNumberResponse, error)
	// GetService returns what is known of a service.
	GetService(context.Context, *GetServiceRequest) (*GetServiceResponse, error)
	// StartService starts a service and waits until it runs.
	StartService(context.Context, *StartServiceRequest) (*StartServiceResponse, error)
	// StopService stops a service and waits until it has stopped.
	StopService(context.Context, *StopServiceRequest) (*StopServiceResponse, error)
}

var _ Interface = (*System)(nil)

// New returns the services and firmware of a machine.
func New(hostAPI systemapi.HostAPI) (*System, error) {
	if hostAPI == nil {
		return nil, errors.New("system.New needs a HostAPI")
	}
	return &System{hostAPI: hostAPI}, nil
}

// within is the machine for a call: our own takes the call's context along.
func (s *System) within(ctx context.Context) systemapi.HostAPI {
	if own, ok := s.hostAPI.(systemapi.SystemAPI); ok {
		return own.WithContext(ctx)
	}
	return s.hostAPI
}

// GetBIOSSerialNumber returns the serial number that the firmware tells.
func (s *System) GetBIOSSerialNumber(ctx context.Context, _ *GetBIOSSerialNumberRequest) (*GetBIOSSerialNumberResponse, error) {
	serial, err := s.within(ctx).GetBIOSSerialNumber()
	return &GetBIOSSerialNumberResponse{SerialNumber: serial}, err
}

// GetService returns what is known of a service.
func (s *System) GetService(ctx context.Context, request *GetServiceRequest) (*GetServiceResponse, error) {
	info, err := s.within(ctx).GetService(request.Name)
	if err != nil {
		return &GetServiceResponse{}, err
	}
	return &GetServiceResponse{DisplayName: info.DisplayName, StartType: Startype(info.StartType), Status: ServiceStatus(info.Status)}, nil
}

// StartService starts a service and waits until it runs, at most 30 seconds. One that runs is success.
func (s *System) StartService(ctx context.Context, request *StartServiceRequest) (*StartServiceResponse, error) {
	return &StartServiceResponse{}, s.within(ctx).StartService(request.Name)
}

// StopService stops a service and waits until it has stopped, at most 30 seconds. One that is stopped is success.
func (s *System) StopService(ctx context.Context, request *StopServiceRequest) (*StopServiceResponse, error) {
	return &StopServiceResponse{}, s.within(ctx).StopService(request.Name, request.Force)
}
