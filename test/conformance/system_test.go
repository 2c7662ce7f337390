// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// serviceInfo is the answer about a service, with Windows' own numbers.
type serviceInfo struct {
	DisplayName      string
	StartType, State uint32
}

func (d *driver) service(name string) serviceInfo {
	d.t.Helper()
	r := d.must("GetService", values{serviceName: name})
	return serviceInfo{r.get(displayName).String(), uint32(r.get(startType).Enum()), uint32(r.get(state).Enum())}
}

func (d *driver) startService(name string) error {
	d.t.Helper()
	return d.do("StartService", values{serviceName: name})
}

func (d *driver) stopService(name string, byForce bool) error {
	d.t.Helper()
	return d.do("StopService", values{serviceName: name, force: byForce})
}

// hasState asserts the state that the services have on the node.
func (d *driver) hasState(want uint32, names ...string) {
	d.t.Helper()
	for _, name := range names {
		s, err := d.node.Emulated.QueryService(name)
		caller.OK(d.t, err)
		if s.State != want {
			d.t.Errorf("%s has the state %d, want %d", name, s.State, want)
		}
	}
}

func serviceScenarios() map[string]scenario {
	return map[string]scenario{
		"GetBIOSSerialNumber": {
			success: func(d *driver) {
				same(d.t, ask[string](d, "GetBIOSSerialNumber", nil, serial), "EMU-0000-0001")
			},
			failure: func(d *driver) {
				d.node.Faults.Add(testnode.Fault{Function: "SystemFirmwareTable", Error: win32.ERROR_ACCESS_DENIED})
				d.fails("firmware that cannot be read", codes.PermissionDenied, "GetBIOSSerialNumber", nil)
			},
		},
		"GetService": {
			success: func(d *driver) {
				for name, want := range map[string]serviceInfo{
					"W32Time": {"W32Time", win32.SERVICE_AUTO_START, win32.SERVICE_RUNNING},
					"Spooler": {"Spooler", win32.SERVICE_DEMAND_START, win32.SERVICE_STOPPED},
				} {
					same(d.t, d.service(name), want)
				}
			},
			failure: func(d *driver) {
				d.fails("an unknown service", codes.NotFound, "GetService", values{serviceName: "nothing"})
			},
		},
		"StartService": {
			success: func(d *driver) {
				caller.OK(d.t, d.startService("Spooler"))
				d.hasState(win32.SERVICE_RUNNING, "Spooler")
				caller.OK(d.t, d.stopService("Spooler", false))
			},
			failure: func(d *driver) {
				wantCode(d.t, "an unknown service", d.startService("nothing"), codes.NotFound)
				d.node.Faults.Add(testnode.Fault{Function: "StartService", Error: win32.ERROR_SERVICE_DISABLED})
				wantCode(d.t, "a disabled service", d.startService("Spooler"), codes.FailedPrecondition)
			},
		},
		"StopService": {
			success: func(d *driver) {
				caller.OK(d.t, d.stopService("MSiSCSI", true))
				d.hasState(win32.SERVICE_STOPPED, "MSiSCSI", "csi-dependent")
				caller.OK(d.t, d.startService("MSiSCSI"))
				caller.OK(d.t, d.startService("csi-dependent"))
			},
			failure: func(d *driver) {
				wantCode(d.t, "an unknown service", d.stopService("nothing", true), codes.NotFound)
			},
		},
	}
}
