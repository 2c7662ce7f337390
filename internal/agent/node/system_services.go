// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	api "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// serviceStatus is the state of a service; the numbers are those of Windows. The zero value is unknown.
type serviceStatus uint32

// String returns the state in words that fit after "is".
func (s serviceStatus) String() string {
	words := [...]string{"in an unknown state", "stopped", "starting", "stopping", "running", "about to continue",
		"about to pause", "paused"}
	if int(s) >= len(words) {
		return fmt.Sprintf("in state %d", uint32(s))
	}
	return words[s]
}

// GetBIOSSerialNumber returns the serial number of the machine, or of the virtual machine, from the system information
// of its SMBIOS tables, without trailing blanks. NotFound: the firmware reports none.
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
	if err := checkServiceName(r.GetName()); err != nil {
		return nil, err
	}
	return run(ctx, s.node, operation.On("GetService", operation.Service(r.GetName())),
		func(o *op) (*api.GetServiceResponse, error) {
			found, err := o.queryService(r.GetName())
			return &api.GetServiceResponse{ // the enums have Windows' numbers
				DisplayName: found.DisplayName, StartType: api.StartType(found.StartType),
				Status: api.ServiceStatus(found.State),
			}, err
		})
}

// StartService starts a service, and Windows those that it depends on; it returns when the service is running. One that
// runs already is success. After 30 s, or when the context ends, it fails with DeadlineExceeded; the service may still
// start. FailedPrecondition: the service is disabled, paused or being removed, its account cannot log on, or a service
// that it depends on does not start. Internal: it stopped again; the message has its exit code.
func (s *System) StartService(ctx context.Context, r *api.StartServiceRequest) (*api.StartServiceResponse, error) {
	return &api.StartServiceResponse{}, s.control(ctx, "StartService", r.GetName(), (*op).startService)
}

// StopService stops a service and returns when it is stopped; a stopped service is success. It waits as StartService
// does. While services that depend on it are running, it fails with FailedPrecondition and names them; with force it
// stops them first, each before those that it depends on, within the same time. FailedPrecondition as well: the service
// cannot be stopped, or it is the agent's own service or a protected one, or one of those depends on it.
func (s *System) StopService(ctx context.Context, r *api.StopServiceRequest) (*api.StopServiceResponse, error) {
	return &api.StopServiceResponse{}, s.control(ctx, "StopService", r.GetName(),
		func(o *op, wait context.Context, name string) error {
			if err := o.node.mayStop(name); err != nil {
				return err
			}
			return o.stopService(wait, name, r.GetForce())
		})
}

// control runs an operation that waits for a service. Identical operations are not joined: each caller has a deadline
// of its own, and the second finds the service in the state that the first brought about.
func (s *System) control(ctx context.Context, verb, name string,
	f func(o *op, wait context.Context, name string) error) error {
	if err := checkServiceName(name); err != nil {
		return err
	}
	what := operation.On(verb, operation.Service(name))
	limited, cancel := context.WithTimeout(ctx, serviceTime)
	defer cancel()
	what.NoJoin = true
	return s.node.do(ctx, what, func(o *op) error { return f(o, limited, name) })
}

// ownService returns the service that the agent works for: unless that is known, the one that it usually is.
func (n *Node) ownService() (name string) {
	if n.config.OwnService != nil {
		name = n.config.OwnService()
	}
	return cmp.Or(name, "csiproxy")
}

// maxServiceName is the limit of CreateServiceW, in UTF-16 units.
const maxServiceName = 256

// checkServiceName refuses a text that cannot be the name of a service, before it reaches Windows or a log.
func checkServiceName(name string) error {
	invalid := func(why string) error {
		return errdefs.InvalidArgument.Errorf(reason.InvalidServiceName, "the service name %s", why)
	}
	switch {
	case name == "":
		return invalid("is empty")
	case !utf8.ValidString(name):
		return invalid("is not valid UTF-8")
	case len(name) > 3*maxServiceName || len(utf16.Encode([]rune(name))) > maxServiceName:
		return invalid("is longer than 256 characters")
	case strings.ContainsAny(name, `\/`):
		return invalid(fmt.Sprintf("%q has a slash", name))
	case strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r)
	}):
		return invalid(fmt.Sprintf("%q has a control character", name))
	}
	return nil
}
