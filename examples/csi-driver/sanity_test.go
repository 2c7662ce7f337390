// SPDX-License-Identifier: Apache-2.0

package main

import (
	"testing"

	"google.golang.org/grpc"

	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/csisanity"
	"github.com/kubernetes-csi/csi-proxy/csisanity/csicode"
)

// TestSanity runs csi-sanity on the plugin, with disks and with shares. The numbers of specs that apply are those of
// csi-test 5.6: fewer would mean that the plugin or the controller claims less than before.
func TestSanity(t *testing.T) {
	node := csiproxytest.Start(t, csiproxytest.Options{})
	codes := grpc.UnaryInterceptor(csicode.Interceptor)
	results := csisanity.Run(t,
		csisanity.Suite{Name: "disks", Plugin: csisanity.Serve(t, newDriver(node.Client(), "node-1", t.TempDir(), false).register, codes), Node: node, Volumes: csisanity.Disks()},
		csisanity.Suite{Name: "shares", Plugin: csisanity.Serve(t, newDriver(node.Client(), "node-1", t.TempDir(), true).register, codes), Node: node, Volumes: csisanity.Shares()},
	)
	for i, want := range []int{54, 35} {
		if results[i].Passed != want {
			t.Errorf("%d specs passed with %s, want %d", results[i].Passed, results[i].Suite, want)
		}
	}
}
