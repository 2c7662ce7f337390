// SPDX-License-Identifier: Apache-2.0

package kubeletpath_test

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/kubeletpath"
)

func TestParseStaged(t *testing.T) {
	for path, want := range map[string][2]string{
		`C:\var\lib\kubelet\plugins\kubernetes.io\csi\d.example\0f\globalmount`:   {`C:\var\lib\kubelet`, "d.example"},
		`c:\K\Plugins\KUBERNETES.IO\csi\pv\pvc-1\GlobalMount\`:                    {`c:\K`, "pv"},
		`C:\var\lib\kubelet\plugins\kubernetes.io\csi\d.example\0f\globalmount\x`: {},
		`C:\var\lib\kubelet\plugins\kubernetes.io\csi\d.example\globalmount`:      {},
		`C:\var\lib\kubelet\plugins\kubernetesXio\csi\d.example\0f\globalmount`:   {},
		`plugins\kubernetes.io\csi\d.example\0f\globalmount`:                      {},
		"": {},
	} {
		kubelet, driver, ok := kubeletpath.ParseStaged(path)
		if got := [2]string{kubelet, driver}; got != want || ok != (want != [2]string{}) {
			t.Errorf("%s: got %q, %t, want %q", path, got, ok, want)
		}
	}
}
