// SPDX-License-Identifier: Apache-2.0

package contract

import systemapi "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"

func systemVaries() map[string]string {
	return map[string]string{
		"StartService": "QueryService is called until the service runs, for 30 s at most; it is listed here once.",
		"StopService":  "with the dependents; QueryService as in StartService.",
	}
}

func systemExamples() []kernelExample {
	start := func(w *exampleNode) error {
		_, err := w.System.StartService(w.ctx, &systemapi.StartServiceRequest{Name: "Spooler"})
		return err
	}
	stop := func(name string, force bool) func(*exampleNode) error {
		return func(w *exampleNode) error {
			_, err := w.System.StopService(w.ctx, &systemapi.StopServiceRequest{Name: name, Force: force})
			return err
		}
	}
	return []kernelExample{
		{"GetBIOSSerialNumber", "any node", nil, func(w *exampleNode) error {
			_, err := w.System.GetBIOSSerialNumber(w.ctx, &systemapi.GetBIOSSerialNumberRequest{})
			return err
		}},
		{"StartService", "stopped", nil, start},
		{"StartService", "running already", func(w *exampleNode) { w.must(start(w)) }, start},
		{"StopService", "running", nil, stop("W32Time", false)},
		{"StopService", "stopped already", nil, stop("Spooler", false)},
		{"StopService", "force: with a running dependent", nil, stop("MSiSCSI", true)},
		{"GetService", "running", nil, func(w *exampleNode) error {
			_, err := w.System.GetService(w.ctx, &systemapi.GetServiceRequest{Name: "W32Time"})
			return err
		}},
	}
}
