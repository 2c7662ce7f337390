// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/csisanity"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// TestPythonSanity runs csi-sanity on the plugin in Python, examples/python/csi_driver.py. It is a test program's only
// run of csi-sanity, so `make test-clients` runs it alone.
func TestPythonSanity(t *testing.T) {
	python := os.Getenv("CSI_DRIVER_PYTHON")
	if python == "" {
		t.Skip("require CSI_DRIVER_PYTHON, a Python that finds the plugin's messages: make test-clients")
	}
	node := csiproxytest.Start(t, csiproxytest.Options{})
	command := exec.Command(python, "../python/csi_driver.py", "--socket-dir="+node.SocketDir(), "--node-id=node-1",
		"--endpoint=127.0.0.1:0")
	plugin := strings.TrimPrefix(testnode.BeginCommand(t, command).Ready(), "ready at ")
	results := csisanity.Run(t,
		csisanity.Suite{Name: "disks", Plugin: plugin, Node: node, Volumes: csisanity.Disks()},
		csisanity.Suite{Name: "shares", Plugin: plugin, Node: node, Volumes: csisanity.Shares(node)},
	)
	for i, want := range []int{52, 41} { // two fewer than in Go: it does not offer NodeGetVolumeHealth
		if results[i].Passed != want {
			t.Errorf("%d specs passed with %s, want %d", results[i].Passed, results[i].Suite, want)
		}
	}
}
