// SPDX-License-Identifier: Apache-2.0

package testnode

import (
	"context"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/adminclient"
)

// Controlled is an emulated node whose agent is another process. It has methods of csiproxytest.Node. They end the test
// when they fail.
type Controlled struct {
	T     testing.TB
	Admin *adminclient.Client
}

// Control connects to an agent until the test is over.
func Control(t testing.TB, socketDir string) Controlled {
	t.Helper()
	admin, err := adminclient.Dial(context.Background(), socketDir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admin.Close() })
	return Controlled{t, admin}
}

// KubeletDir is the one of every emulated node.
func (Controlled) KubeletDir() string { return `C:\var\lib\kubelet` }

// FileServer is the one of every emulated node.
func (Controlled) FileServer() csiproxytest.FileServer {
	return csiproxytest.FileServer{Name: "fs.emulated", User: "csi", Password: "csi-password"}
}

// AttachDisk attaches a disk, of which it knows the size, the serial number, the image, and whether it is offline or
// formatted.
func (c Controlled) AttachDisk(d csiproxytest.Disk) (number uint32) {
	c.T.Helper()
	disk := map[string]any{"serial": d.SerialNumber, "offline": d.Offline}
	if d.SizeBytes > 0 {
		disk["size"] = d.SizeBytes
	}
	if d.ImagePath != "" {
		disk["image"] = d.ImagePath
	}
	if d.Formatted {
		disk["content"] = "formatted"
	}
	return c.disk(c.Admin.Add(context.Background(),
		&nodeapi.AddRequest{Document: nodeapi.Document("disks", disk)})).Number
}

// DetachDisk pulls a disk out.
func (c Controlled) DetachDisk(number uint32) (imagePath string) {
	c.T.Helper()
	return c.disk(c.Admin.Remove(context.Background(),
		&nodeapi.RemoveRequest{Document: nodeapi.Document("disks", map[string]any{"number": number})})).Image
}

// GrowDisk makes a disk larger.
func (c Controlled) GrowDisk(number uint32, sizeBytes int64) {
	c.T.Helper()
	_, err := c.Admin.Change(context.Background(), &nodeapi.ChangeRequest{
		Document: nodeapi.Document("disks", map[string]any{"number": number, "size": sizeBytes})})
	c.must(err)
}

// AddSMBShare adds a share to a file server, and the server with the first one.
func (c Controlled) AddSMBShare(server, share string, users ...string) {
	c.T.Helper()
	_, err := c.Admin.Add(context.Background(), &nodeapi.AddRequest{Document: nodeapi.Document("smbServers",
		map[string]any{"name": server, "shares": []map[string]any{{"name": share, "users": append([]string{}, users...)}}})})
	c.must(err)
}

// RemoveSMBShare removes a share.
func (c Controlled) RemoveSMBShare(server, share string) {
	c.T.Helper()
	_, err := c.Admin.Remove(context.Background(), &nodeapi.RemoveRequest{Document: nodeapi.Document("smbServers",
		map[string]any{"name": server, "shares": []map[string]any{{"name": share}}})})
	c.must(err)
}

// answered is a disk as the agent's answers name it.
type answered struct {
	Number uint32
	Image  string
}

// disk returns the only disk of an answer.
func (c Controlled) disk(answer interface{ GetDocument() *structpb.Struct }, err error) answered {
	c.T.Helper()
	c.must(err)
	disks, err := nodeapi.Part[[1]answered](answer.GetDocument(), "disks")
	c.must(err)
	return disks[0]
}

func (c Controlled) must(err error) {
	c.T.Helper()
	if err != nil {
		c.T.Fatal(err)
	}
}
