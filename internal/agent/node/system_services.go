// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"time"

	api "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/services"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// GetBIOSSerialNumber returns the serial number from the SMBIOS tables, without trailing blanks, as the proto says.
func (s *System) GetBIOSSerialNumber(ctx context.Context,
	_ *api.GetBIOSSerialNumberRequest) (*api.GetBIOSSerialNumberResponse, error) {
	return run(ctx, s.node, operation.On("GetBIOSSerialNumber"), func(o *op) (*api.GetBIOSSerialNumberResponse, error) {
		serial, err := o.systemSerialNumber()
		return &api.GetBIOSSerialNumberResponse{SerialNumber: serial}, err
	})
}

func (o *op) systemSerialNumber() (string, error) {
	table, err := o.kernel.SystemFirmwareTable(kernel.ProviderSMBIOS, 0)
	if err != nil {
		return "", errdefs.Errorf(err, "reading the SMBIOS tables")
	}
	smbios, err := win32.ParseSMBIOS(table)
	serial := smbios.SystemSerialNumber()
	switch {
	case serial == "" && err != nil:
		return "", errdefs.Internal.WrapErrorf(err, reason.FirmwareTableDamaged, "the SMBIOS tables are damaged: %v", err)
	case serial == "":
		return "", errdefs.NotFound.Errorf(reason.NoSerialNumber, "the firmware reports no serial number for the system")
	case err != nil:
		o.log().V(2).Info("The SMBIOS tables are damaged after the serial number", "err", err)
	}
	return serial, nil
}

// GetService returns the configuration and the state of a service. NotFound: there is no service of that name.
func (s *System) GetService(ctx context.Context, r *api.GetServiceRequest) (*api.GetServiceResponse, error) {
	if err := services.CheckName(r.GetName()); err != nil {
		return nil, err
	}
	return run(ctx, s.node, operation.On("GetService", operation.Service(r.GetName())),
		func(o *op) (*api.GetServiceResponse, error) {
			found, err := o.services().Query(r.GetName())
			return &api.GetServiceResponse{ // the enums have Windows' numbers
				DisplayName: found.DisplayName, StartType: api.StartType(found.StartType),
				Status: api.ServiceStatus(found.State),
			}, err
		})
}

// StartService starts a service and waits until it is running, as the proto says.
func (s *System) StartService(ctx context.Context, r *api.StartServiceRequest) (*api.StartServiceResponse, error) {
	return &api.StartServiceResponse{}, s.control(ctx, "StartService", r.GetName(),
		func(o *op, wait context.Context) error { return o.services().Start(wait, r.GetName()) })
}

// StopService stops a service and waits until it is stopped, as the proto says.
func (s *System) StopService(ctx context.Context, r *api.StopServiceRequest) (*api.StopServiceResponse, error) {
	return &api.StopServiceResponse{}, s.control(ctx, "StopService", r.GetName(),
		func(o *op, wait context.Context) error { return o.services().Stop(wait, r.GetName(), r.GetForce()) })
}

// control runs an operation that waits for a service. Identical operations are not joined: each caller has a deadline
// of its own, and the second finds the service in the state that the first brought about.
func (s *System) control(ctx context.Context, verb, name string,
	f func(o *op, wait context.Context) error) error {
	if err := services.CheckName(name); err != nil {
		return err
	}
	what := operation.On(verb, operation.Service(name))
	limited, cancel := context.WithTimeout(ctx, serviceTime)
	defer cancel()
	what.NoJoin = true
	return s.node.do(ctx, what, func(o *op) error { return f(o, limited) })
}

// serviceTime is how long StartService and StopService wait for the service and those that start or stop with it.
const serviceTime = 30 * time.Second

func (o *op) services() services.Manager {
	return services.Manager{Kernel: o.kernel, Protected: o.node.protectedServices, Own: o.node.config.OwnService}
}
