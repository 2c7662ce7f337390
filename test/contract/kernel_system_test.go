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
	start := func(w *exampleNode) error { return w.StartService("Spooler") }
	stop := func(name string, force bool) func(*exampleNode) error {
		return func(w *exampleNode) error { return w.StopService(name, force) }
	}
	return []kernelExample{
		{"GetBIOSSerialNumber", "any node", nil, func(w *exampleNode) error {
			_, err := w.System.GetBIOSSerialNumber(w.Context(), &systemapi.GetBIOSSerialNumberRequest{})
			return err
		}},
		{"StartService", "stopped", nil, start},
		{"StartService", "running already", func(w *exampleNode) { w.OK(start(w)) }, start},
		{"StopService", "running", nil, stop("W32Time", false)},
		{"StopService", "stopped already", nil, stop("Spooler", false)},
		{"StopService", "force: with a running dependent", nil, stop("MSiSCSI", true)},
		{"GetService", "running", nil, func(w *exampleNode) error { _, err := w.GetService("W32Time"); return err }},
	}
}
