// SPDX-License-Identifier: Apache-2.0

package winservice

import "testing"

// The services of the distributions, and what must not be taken for one.
func TestServicesThatRunAnAgent(t *testing.T) {
	for _, test := range []struct {
		command     []string
		application string
		want        Agent // without a name: none
	}{
		{[]string{`C:\etc\kubernetes\node\bin\CSI-Proxy.exe`, "-windows-service"}, "",
			Agent{"s", `C:\etc\kubernetes\node\bin\CSI-Proxy.exe`, ""}},
		{[]string{`C:\k\nssm.exe`}, `C:/k/csi-proxy.exe`, Agent{"s", `C:/k/csi-proxy.exe`, `C:\k\nssm.exe`}},
		{[]string{`C:\ours\csi-proxy.exe`}, `C:\k\csi-proxy.exe`, Agent{"s", `C:\ours\csi-proxy.exe`, ""}},
		{[]string{`C:\k\nssm.exe`}, `C:\k\kubelet.exe`, Agent{}},
		{[]string{`C:\k\my-csi-proxy.exe`}, "", Agent{}},
		{[]string{`C:\k\csi-proxy.exe\other.exe`}, "", Agent{}},
		{nil, "", Agent{}},
	} {
		got, found := agentOf("s", test.command, test.application)
		if found != (test.want.Name != "") || found && got != test.want {
			t.Errorf("%q, %q: got %v, %v", test.command, test.application, got, found)
		}
	}
}
