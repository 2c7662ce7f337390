// SPDX-License-Identifier: Apache-2.0

package csisanity

import (
	"flag"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// The flags are csi-sanity's own name for the plugin, and ours for the controller that it wants besides.
var (
	endpoint = flag.String("csi.endpoint", "", "address of the plugin")
	volumes  = flag.String("controller", "", "what the volumes are: disks or shares")
)

// TestOffWindows is the caller csi-sanity of hack/off-windows.sh with -controller.
func TestOffWindows(t *testing.T) {
	if *endpoint == "" {
		t.Skip("needs the plugin and the agent of hack/off-windows.sh")
	}
	kinds := map[string]func(Node) Volumes{"disks": func(Node) Volumes { return Disks() }, "shares": Shares}
	if kinds[*volumes] == nil {
		t.Fatalf("-controller=%s: use disks or shares", *volumes)
	}
	client := csiproxy.New(csiproxy.Options{})
	t.Cleanup(func() { _ = client.Close() })
	node := outside{testnode.Control(t, ""), client}
	Run(t, Suite{Name: *volumes, Plugin: *endpoint, Node: node, Volumes: kinds[*volumes](node)})
}

// outside is the emulated node of an agent in another process.
type outside struct {
	testnode.Controlled
	client *csiproxy.Client
}

func (n outside) Client() *csiproxy.Client { return n.client }
