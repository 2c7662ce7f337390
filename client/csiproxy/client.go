// SPDX-License-Identifier: Apache-2.0

package csiproxy

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/kubernetes-csi/csi-proxy/client"
	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	smbapi "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	systemapi "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
)

const (
	// defaultTimeout is a little more than what the agent allows its longest calls, so that the agent's own answer
	// comes first.
	defaultTimeout = 2 * time.Minute
	// defaultRestart is longer than it takes to replace the agent's binary and start it.
	defaultRestart = 30 * time.Second
)

// A Client calls one agent. It is safe for concurrent use.
type Client struct {
	Disk       diskapi.DiskClient
	Filesystem filesystemapi.FilesystemClient
	ISCSI      iscsiapi.IscsiClient
	SMB        smbapi.SmbClient
	System     systemapi.SystemClient
	Volume     volumeapi.VolumeClient

	groups []*group // none when the connection is not ours
}

// Options adjusts New. The zero value is for the agent of this node.
type Options struct {
	// Timeout bounds a call whose context has no deadline. Zero: two minutes.
	Timeout time.Duration
	// Restart is how long a call waits for an agent that was there and is gone, which is what an upgrade looks like.
	// The call's own deadline wins. Zero: 30 seconds; negative: not at all.
	Restart time.Duration
	// SocketDir is the directory of the agent's sockets on systems without named pipes. Empty: the one that the
	// environment variable CSI_PROXY_SOCKET_DIR names.
	SocketDir string
	// PipePath names the pipe of a group's version, for agents that are not found under the usual names. Nil:
	// client.PipePath.
	PipePath func(group string, version apiversion.Version) string
	// Dial is appended to the options of every gRPC connection, for interceptors.
	Dial []grpc.DialOption
}

// New returns a client of the agent of this node. It connects to nothing yet: the first call of a group does, and
// Connect does it for all groups. Close releases what it opened.
func New(options Options) *Client {
	if options.Timeout == 0 {
		options.Timeout = defaultTimeout
	}
	if options.Restart == 0 {
		options.Restart = defaultRestart
	}
	if options.PipePath == nil {
		options.PipePath = client.PipePath
	}
	c := &Client{}
	conns := map[string]grpc.ClientConnInterface{}
	for _, table := range versions.Groups() {
		g := newGroup(table, options)
		c.groups = append(c.groups, g)
		conns[table.Name] = g
	}
	return c.over(func(group string) grpc.ClientConnInterface { return conns[group] })
}

// Over returns a client whose calls all go through one connection that serves the newest version of every group, such
// as one to an agent in this process. It belongs to the caller, and Close leaves it open.
func Over(connection grpc.ClientConnInterface) *Client {
	return (&Client{}).over(func(group string) grpc.ClientConnInterface {
		return direct{group: group, connection: connection}
	})
}

func (c *Client) over(connection func(group string) grpc.ClientConnInterface) *Client {
	c.Disk = diskapi.NewDiskClient(connection("disk"))
	c.Filesystem = filesystemapi.NewFilesystemClient(connection("filesystem"))
	c.ISCSI = iscsiapi.NewIscsiClient(connection("iscsi"))
	c.SMB = smbapi.NewSmbClient(connection("smb"))
	c.System = systemapi.NewSystemClient(connection("system"))
	c.Volume = volumeapi.NewVolumeClient(connection("volume"))
	return c
}

// Connect connects to all groups at the same time and returns which version of each it found: "disk": "v1". A group
// that the agent does not serve is left out. It fails only if there is none at all, with an error that says why for
// every group. A group that is connected already stays so, unless a newer version of it is served by now.
func (c *Client) Connect(ctx context.Context) (map[string]string, error) {
	found := map[string]string{}
	if c.groups == nil {
		for _, table := range versions.Groups() {
			found[table.Name] = table.Hub
		}
		return found, nil
	}
	var (
		all  sync.WaitGroup
		mu   sync.Mutex
		errs []error
	)
	for _, g := range c.groups {
		all.Go(func() {
			version, err := g.connect(ctx)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
				return
			}
			found[g.table.Name] = version
		})
	}
	all.Wait()
	if len(found) == 0 {
		return nil, errors.Join(errs...)
	}
	return found, nil
}

// Close closes the connections; calls that are still running fail, and later ones too.
func (c *Client) Close() error {
	var errs []error
	for _, g := range c.groups {
		errs = append(errs, g.close())
	}
	return errors.Join(errs...)
}

// open opens the endpoint of one version.
func (o Options) open(ctx context.Context, group, version string) (*grpc.ClientConn, error) {
	v, err := apiversion.NewVersion(version)
	if err != nil {
		return nil, err
	}
	return dial.Open(ctx, o.PipePath(group, v), dial.Options{SocketDir: o.SocketDir, Dial: o.Dial})
}
