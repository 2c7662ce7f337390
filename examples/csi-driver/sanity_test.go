// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"testing"

	"google.golang.org/grpc"

	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/csisanity"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/mounter"
	"github.com/kubernetes-csi/csi-proxy/mounter/csicode"
)

// TestSanity runs csi-sanity on the plugin, with disks and with shares. The numbers of specs that apply are those of
// csi-test 5.6: fewer would mean that the plugin or the controller claims less than before.
func TestSanity(t *testing.T) {
	want := []int{54, 43}
	if testnode.OnWine() && !testnode.Long() { // where they take minutes
		want = []int{1, 1}
		if err := flag.Set("ginkgo.focus", "Service should work"); err != nil {
			t.Fatal(err)
		}
	}
	node := csiproxytest.Start(t, csiproxytest.Options{})
	codes := grpc.UnaryInterceptor(csicode.Interceptor)
	results := csisanity.Run(t,
		csisanity.Suite{Name: "disks",
			Plugin: csisanity.Serve(t, newDriver(mounter.New(node.Client()), "node-1").register, codes),
			Node:   node, Volumes: csisanity.Disks()},
		csisanity.Suite{Name: "shares",
			Plugin: csisanity.Serve(t, newDriver(mounter.New(node.Client()), "node-1").register, codes),
			Node:   node, Volumes: csisanity.Shares(node)},
	)
	for i, result := range results {
		if result.Passed != want[i] {
			t.Errorf("%d specs passed with %s, want %d", result.Passed, result.Suite, want[i])
		}
	}
}
