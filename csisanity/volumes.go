// SPDX-License-Identifier: Apache-2.0

package csisanity

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"github.com/kubernetes-csi/csi-test/v5/pkg/sanity"
	"github.com/onsi/ginkgo/v2"
	"google.golang.org/grpc"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
)

// A Node is a node on which a plugin works: a *csiproxytest.Node.
type Node interface {
	KubeletDir() string
	AttachDisk(d csiproxytest.Disk) (number uint32)
	DetachDisk(number uint32) (imagePath string)
	GrowDisk(number uint32, sizeBytes int64)
	FileServer() csiproxytest.FileServer
	AddSMBShare(server, share string, users ...string)
	RemoveSMBShare(server, share string)
	Client() *csiproxy.Client
}

// Volumes describe a storage system as a node plugin sees it. A driver whose plugin wants other identifiers or contexts
// than those of Disks or Shares makes its own.
type Volumes struct {
	// ID returns the id of the nth volume.
	ID func(n int) string
	// Disk returns the disk that attaching a volume brings to the node; its size is set by the caller. Nil: volumes are
	// not attached.
	Disk func(id string) csiproxytest.Disk
	// PublishContext is what the controller tells the plugin about an attached disk. Nil: nothing.
	PublishContext func(id string, disk uint32) map[string]string
	// VolumeContext is what the controller tells the plugin about every volume. Nil: nothing.
	VolumeContext func(id string) map[string]string
	// Server is the file server on which each volume is a share with the volume's id as its name. Empty: volumes are
	// disks.
	Server string
	// Secrets are those with which volumes are staged and published.
	Secrets map[string]string
}

// Disks are volumes on SCSI disks, which the plugin finds as with EBS: the serial number is the volume's id without its
// hyphen. The publish context has a "devicePath" such as /dev/xvdab, without which the driver of EBS stages nothing.
func Disks() Volumes {
	return Volumes{
		ID: func(n int) string { return fmt.Sprintf("vol-%017x", n) },
		Disk: func(id string) csiproxytest.Disk {
			return csiproxytest.Disk{SerialNumber: strings.ReplaceAll(id, "-", "")}
		},
		PublishContext: func(_ string, disk uint32) map[string]string {
			return map[string]string{"devicePath": fmt.Sprintf("/dev/xvd%c%c", 'a'+disk/26%26, 'a'+disk%26)}
		},
	}
}

// Shares are volumes on the node's FileServer, each a share of its own. The volume context has the share's remote path
// as "source", and the secrets are the "username" and "password" of the server's account, all as csi-driver-smb names
// them.
func Shares(n Node) Volumes {
	server := n.FileServer()
	return Volumes{
		ID: func(n int) string { return fmt.Sprintf("share-%d", n) },
		VolumeContext: func(id string) map[string]string {
			return map[string]string{"source": "//" + server.Name + "/" + id}
		},
		Server:  server.Name,
		Secrets: map[string]string{"username": server.User, "password": server.Password},
	}
}

// kubelet makes and removes the directories of volumes on a node.
type kubelet struct {
	dir   string
	files csiproxy.FilesystemClient
}

func (k kubelet) configure(c *sanity.TestConfig) {
	c.TargetPath, c.StagingPath = targetDir(k.dir), stagingDir(k.dir)
	c.CreateTargetDir, c.CreateStagingDir = k.makeDir, k.makeDir
	c.RemoveTargetPath, c.RemoveStagingPath = k.removeDir, k.removeDir
	c.CheckPath = k.kind
	c.DialOptions = append(c.DialOptions, grpc.WithUnaryInterceptor(k.absolute))
}

// absolute moves the volume path "some/path", at which csi-sanity has no volume, into kubelet's directory. Kubelet
// sends no relative paths, and an agent refuses them, so a plugin would fail for csi-sanity's sake.
func (k kubelet) absolute(ctx context.Context, method string, request, answer any, connection *grpc.ClientConn,
	call grpc.UnaryInvoker, options ...grpc.CallOption) error {
	var path *string
	switch r := request.(type) {
	case *csi.NodeGetVolumeStatsRequest:
		path = &r.VolumePath
	case *csi.NodeExpandVolumeRequest:
		path = &r.VolumePath
	}
	if path != nil && *path != "" && !strings.HasPrefix(*path, k.dir) {
		*path = k.dir + `\` + strings.ReplaceAll(*path, "/", `\`)
	}
	return call(ctx, method, request, answer, connection, options...)
}

// targetDir is the directory at whose entry "target" csi-sanity publishes.
func targetDir(kubelet string) string {
	return kubelet + `\pods\csisanity\volumes\kubernetes.io~csi\pv`
}

func stagingDir(kubelet string) string {
	return kubelet + `\plugins\kubernetes.io\csi\csisanity\globalmount`
}

func (k kubelet) makeDir(path string) (string, error) {
	_, err := k.files.Mkdir(context.Background(), &csiproxy.MkdirRequest{Path: path})
	return path, err
}

// removeDir removes a directory in which nothing may be left. csi-sanity ignores its error, so it fails the spec
// itself. Then it removes what is left in both directories, which would fail all later specs. It follows no link.
func (k kubelet) removeDir(path string) error {
	err := k.remove(path, false)
	if err == nil || errors.Is(err, csiproxy.ErrPathNotFound) {
		return nil
	}
	if forced := errors.Join(k.remove(targetDir(k.dir), true), k.remove(stagingDir(k.dir), true)); forced != nil {
		err = fmt.Errorf("%w; it cannot be removed, so later specs fail, too: %w", err, forced)
	}
	ginkgo.Fail(fmt.Sprintf("the plugin left something at %s: %v", path, err))
	return nil
}

func (k kubelet) remove(path string, force bool) error {
	_, err := k.files.Rmdir(context.Background(), &csiproxy.RmdirRequest{Path: path, Force: force})
	return err
}

func (k kubelet) kind(path string) (sanity.PathKind, error) {
	answer, err := k.files.PathExists(context.Background(),
		&csiproxy.PathExistsRequest{Path: strings.ReplaceAll(path, "/", `\`)})
	if err != nil || !answer.GetExists() {
		return sanity.PathIsNotFound, err
	}
	return sanity.PathIsDir, nil // what drivers publish on Windows are links to directories
}
