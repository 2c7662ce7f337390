// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"

	"google.golang.org/grpc"

	systemv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/machine"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/servicewords"
)

// HostAPI gives access to the services and firmware of a machine.
type HostAPI interface {
	// GetBIOSSerialNumber returns the serial number that the firmware reports.
	GetBIOSSerialNumber() (string, error)
	// GetService returns the configuration and the state of a service.
	GetService(name string) (*ServiceInfo, error)
	// StartService starts a service and waits until it is running.
	StartService(name string) error
	// StopService stops a service and waits until it has stopped; with force, also those that depend on it.
	StopService(name string, force bool) error
}

// ServiceInfo is the configuration and the state of a service, in the words of the WMI class Win32_Service: its
// StartMode is the start type ("Auto"), its State the status ("Start Pending"). Both were numbers in v2.0.0-alpha.1.
//
// https://learn.microsoft.com/windows/win32/cimwin32prov/win32-service
type ServiceInfo struct {
	DisplayName string `json:"DisplayName"`
	StartType   string `json:"StartType"`
	Status      string `json:"Status"`
}

// SystemAPI is the HostAPI of this project: each call has the checks, locks and errors of the node. The zero value is
// that of New.
type SystemAPI struct {
	at machine.Place
}

// New returns the machine that the process runs on, which must be a Windows node; off Windows, all calls fail. With
// CSI_PROXY_HOSTAPI=agent in the environment it returns the node of the agent whose pipes the process sees.
func New() HostAPI { return SystemAPI{} }

// Over returns the node of a client: an emulated node, one that inprocess.Open opened with options, or the agent's.
func Over(client *csiproxy.Client) SystemAPI { return SystemAPI{machine.At(client)} }

// WithContext returns the same machine for calls that end with a context.
func (s SystemAPI) WithContext(ctx context.Context) SystemAPI { return SystemAPI{s.at.Within(ctx)} }

// call makes a call to the API's system group.
func call[Q, R any](s SystemAPI, method func(systemv1alpha1.SystemClient, context.Context, *Q, ...grpc.CallOption) (*R,
	error), request *Q) (*R, error) {
	ctx, client, err := s.at.Client()
	if err != nil {
		return nil, err
	}
	return method(client.System, ctx, request)
}

// GetBIOSSerialNumber returns the serial number that the firmware reports.
func (s SystemAPI) GetBIOSSerialNumber() (string, error) {
	r, err := call(s, systemv1alpha1.SystemClient.GetBIOSSerialNumber, &systemv1alpha1.GetBIOSSerialNumberRequest{})
	return r.GetSerialNumber(), err
}

// GetService returns the configuration and the state of a service.
func (s SystemAPI) GetService(name string) (*ServiceInfo, error) {
	r, err := call(s, systemv1alpha1.SystemClient.GetService, &systemv1alpha1.GetServiceRequest{Name: name})
	if err != nil {
		return nil, err
	}
	return &ServiceInfo{
		DisplayName: r.GetDisplayName(),
		StartType:   servicewords.StartModes().Of(uint32(r.GetStartType())),
		Status:      servicewords.States().Of(uint32(r.GetStatus())),
	}, nil
}

// StartService starts a service and waits up to 30 seconds until it is running. A running service is success.
func (s SystemAPI) StartService(name string) error {
	_, err := call(s, systemv1alpha1.SystemClient.StartService, &systemv1alpha1.StartServiceRequest{Name: name})
	return err
}

// StopService stops a service and waits up to 30 seconds until it has stopped. A stopped service is success. With
// force, running services that depend on it are stopped first; otherwise they are an error.
func (s SystemAPI) StopService(name string, force bool) error {
	_, err := call(s, systemv1alpha1.SystemClient.StopService,
		&systemv1alpha1.StopServiceRequest{Name: name, Force: force})
	return err
}
