// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// serviceInfo is the answer about a service, with Windows' own numbers.
type serviceInfo struct {
	DisplayName      string
	StartType, State uint32
}

func (d *driver) service(name string) (serviceInfo, error) {
	d.t.Helper()
	r, err := d.call("GetService", values{serviceName: name})
	if err != nil {
		return serviceInfo{}, err
	}
	return serviceInfo{r.get(displayName).String(), uint32(r.get(startType).Enum()), uint32(r.get(state).Enum())}, nil
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
		noError(d.t, err)
		if s.State != want {
			d.t.Errorf("%s has the state %d, want %d", name, s.State, want)
		}
	}
}

func serviceScenarios() map[string]scenario {
	biosSerial := func(d *driver) (string, error) { return ask[string](d, "GetBIOSSerialNumber", nil, serial) }
	return map[string]scenario{
		"GetBIOSSerialNumber": {
			success: func(d *driver) {
				got, err := biosSerial(d)
				noError(d.t, err)
				same(d.t, got, "EMU-0000-0001")
			},
			repeat: func(d *driver) { twice(d, biosSerial) },
			failure: func(d *driver) {
				d.node.Faults.Add(testnode.Fault{Function: "SystemFirmwareTable", Error: win32.ERROR_ACCESS_DENIED})
				_, err := biosSerial(d)
				wantCode(d.t, "firmware that cannot be read", err, codes.PermissionDenied)
			},
		},
		"GetService": {
			success: func(d *driver) {
				for name, want := range map[string]serviceInfo{
					"W32Time": {"W32Time", win32.SERVICE_AUTO_START, win32.SERVICE_RUNNING},
					"Spooler": {"Spooler", win32.SERVICE_DEMAND_START, win32.SERVICE_STOPPED},
				} {
					got, err := d.service(name)
					noError(d.t, err)
					same(d.t, got, want)
				}
			},
			repeat: func(d *driver) { twice(d, func(d *driver) (serviceInfo, error) { return d.service("W32Time") }) },
			failure: func(d *driver) {
				_, err := d.service("nothing")
				wantCode(d.t, "an unknown service", err, codes.NotFound)
			},
		},
		"StartService": {
			success: func(d *driver) {
				noError(d.t, d.startService("Spooler"))
				d.hasState(win32.SERVICE_RUNNING, "Spooler")
				noError(d.t, d.stopService("Spooler", false))
			},
			repeat: func(d *driver) {
				unchanged(d, func(d *driver) error { return d.startService("W32Time") })
				d.hasState(win32.SERVICE_RUNNING, "W32Time")
			},
			failure: func(d *driver) {
				wantCode(d.t, "an unknown service", d.startService("nothing"), codes.NotFound)
				d.node.Faults.Add(testnode.Fault{Function: "StartService", Error: win32.ERROR_SERVICE_DISABLED})
				wantCode(d.t, "a disabled service", d.startService("Spooler"), codes.FailedPrecondition)
			},
		},
		"StopService": {
			success: func(d *driver) {
				noError(d.t, d.stopService("MSiSCSI", true))
				d.hasState(win32.SERVICE_STOPPED, "MSiSCSI", "csi-dependent")
				noError(d.t, d.startService("MSiSCSI"))
				noError(d.t, d.startService("csi-dependent"))
			},
			repeat: func(d *driver) {
				unchanged(d, func(d *driver) error { return d.stopService("W32Time", false) })
				d.hasState(win32.SERVICE_STOPPED, "W32Time")
				noError(d.t, d.startService("W32Time"))
			},
			failure: func(d *driver) {
				wantCode(d.t, "an unknown service", d.stopService("nothing", true), codes.NotFound)
				wantCode(d.t, "a service with dependents, without force", d.stopService("MSiSCSI", false), codes.FailedPrecondition)
				d.hasState(win32.SERVICE_RUNNING, "MSiSCSI", "csi-dependent")
			},
		},
	}
}
