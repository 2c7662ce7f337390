// SPDX-License-Identifier: Apache-2.0

package conformance

import "github.com/kubernetes-csi/csi-proxy/internal/agent/win32"

// service returns the state of a service.
func (d *driver) service(name string) win32.ServiceState {
	d.t.Helper()
	return win32.ServiceState(d.must("GetService", values{serviceName: name}).get(state).Enum())
}

func (d *driver) startService(name string) error {
	d.t.Helper()
	return d.do("StartService", values{serviceName: name})
}

func (d *driver) stopService(name string, byForce bool) error {
	d.t.Helper()
	return d.do("StopService", values{serviceName: name, force: byForce})
}
