// SPDX-License-Identifier: Apache-2.0

package conformance

// service returns the state of a service, with Windows' own number.
func (d *driver) service(name string) uint32 {
	d.t.Helper()
	return uint32(d.must("GetService", values{serviceName: name}).get(state).Enum())
}

func (d *driver) startService(name string) error {
	d.t.Helper()
	return d.do("StartService", values{serviceName: name})
}

func (d *driver) stopService(name string, byForce bool) error {
	d.t.Helper()
	return d.do("StopService", values{serviceName: name, force: byForce})
}
