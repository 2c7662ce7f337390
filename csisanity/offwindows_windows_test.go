// SPDX-License-Identifier: Apache-2.0

package csisanity

import (
	"flag"
	"testing"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/adminclient"
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
	control, err := adminclient.Dial(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	client := csiproxy.New(csiproxy.Options{})
	t.Cleanup(func() { _, _ = client.Close(), control.Close() })
	node := outside{t, control, client}
	Run(t, Suite{Name: *volumes, Plugin: *endpoint, Node: node, Volumes: kinds[*volumes](node)})
}

// outside is the emulated node of an agent in another process.
type outside struct {
	t       *testing.T
	control *adminclient.Client
	client  *csiproxy.Client
}

func (n outside) Client() *csiproxy.Client { return n.client }

func (outside) KubeletDir() string { return `C:\var\lib\kubelet` }

func (outside) FileServer() csiproxytest.FileServer {
	return csiproxytest.FileServer{Name: "fs.emulated", User: "csi", Password: "csi-password"}
}

func (n outside) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

func (n outside) AttachDisk(d csiproxytest.Disk) uint32 {
	n.t.Helper()
	disk := map[string]any{"serial": d.SerialNumber, "image": d.ImagePath, "size": d.SizeBytes}
	if d.ImagePath != "" { // which has its size
		delete(disk, "size")
	}
	answer, err := n.control.Add(n.t.Context(), &nodeapi.AddRequest{Document: nodeapi.Document("disks", disk)})
	n.must(err)
	disks, err := nodeapi.Part[[1]struct{ Number uint32 }](answer.GetDocument(), "disks")
	n.must(err)
	return disks[0].Number
}

func (n outside) DetachDisk(number uint32) string {
	n.t.Helper()
	answer, err := n.control.Remove(n.t.Context(), &nodeapi.RemoveRequest{
		Document: nodeapi.Document("disks", map[string]any{"number": number})})
	n.must(err)
	disks, err := nodeapi.Part[[1]struct{ Image string }](answer.GetDocument(), "disks")
	n.must(err)
	return disks[0].Image
}

func (n outside) GrowDisk(number uint32, sizeBytes int64) {
	n.t.Helper()
	_, err := n.control.Change(n.t.Context(), &nodeapi.ChangeRequest{
		Document: nodeapi.Document("disks", map[string]any{"number": number, "size": sizeBytes})})
	n.must(err)
}

func (n outside) AddSMBShare(server, share string, users ...string) {
	n.t.Helper()
	_, err := n.control.Add(n.t.Context(), &nodeapi.AddRequest{Document: nodeapi.Document("smbServers",
		map[string]any{"name": server, "shares": []map[string]any{{"name": share, "users": append([]string{}, users...)}}})})
	n.must(err)
}

func (n outside) RemoveSMBShare(server, share string) {
	n.t.Helper()
	_, err := n.control.Remove(n.t.Context(), &nodeapi.RemoveRequest{Document: nodeapi.Document("smbServers",
		map[string]any{"name": server, "shares": []map[string]any{{"name": share}}})})
	n.must(err)
}
