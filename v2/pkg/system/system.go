// SPDX-License-Identifier: Apache-2.0

package system

import (
	"context"
	"errors"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/servicewords"
	systemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/system/hostapi"
)

// System gives access to the services and firmware of a machine.
type System struct {
	hostAPI systemapi.HostAPI
}

// Interface has the methods of System.
type Interface interface {
	// GetBIOSSerialNumber returns the serial number that the firmware reports.
	GetBIOSSerialNumber(context.Context, *GetBIOSSerialNumberRequest) (*GetBIOSSerialNumberResponse, error)
	// GetService returns the configuration and the state of a service.
	GetService(context.Context, *GetServiceRequest) (*GetServiceResponse, error)
	// StartService starts a service and waits until it is running.
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

// within returns the machine for a call; a HostAPI of ours takes the call's context.
func (s *System) within(ctx context.Context) systemapi.HostAPI {
	if own, ok := s.hostAPI.(systemapi.SystemAPI); ok {
		return own.WithContext(ctx)
	}
	return s.hostAPI
}

// GetBIOSSerialNumber returns the serial number that the firmware reports.
func (s *System) GetBIOSSerialNumber(ctx context.Context,
	_ *GetBIOSSerialNumberRequest) (*GetBIOSSerialNumberResponse, error) {
	serial, err := s.within(ctx).GetBIOSSerialNumber()
	return &GetBIOSSerialNumberResponse{SerialNumber: serial}, err
}

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

// StartService starts a service and waits up to 30 seconds until it is running. A running service is success.
func (s *System) StartService(ctx context.Context, request *StartServiceRequest) (*StartServiceResponse, error) {
	return &StartServiceResponse{}, s.within(ctx).StartService(request.Name)
}

// StopService stops a service and waits up to 30 seconds until it has stopped. A stopped service is success.
func (s *System) StopService(ctx context.Context, request *StopServiceRequest) (*StopServiceResponse, error) {
	return &StopServiceResponse{}, s.within(ctx).StopService(request.Name, request.Force)
}
