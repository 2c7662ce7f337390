// SPDX-License-Identifier: Apache-2.0

package api

import (
	systemv1alpha1 "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/servicewords"
)

// ServiceInfo is the configuration and the state of a service, in the words of the WMI class Win32_Service: its
// StartMode is the start type ("Auto"), its State the status ("Start Pending"). Both were numbers in v2.0.0-alpha.1.
//
// https://learn.microsoft.com/windows/win32/cimwin32prov/win32-service
type ServiceInfo struct {
	DisplayName string `json:"DisplayName"`
	StartType   string `json:"StartType"`
	Status      string `json:"Status"`
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
