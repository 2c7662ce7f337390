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
	nodestepsapi "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	smbapi "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	systemapi "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/apiversion"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
)

const (
	// defaultTimeout is a little longer than the agent's limit for its longest calls, so that the agent's own answer
	// comes first.
	defaultTimeout = 2 * time.Minute
	// defaultRestart is longer than it takes to replace the agent's binary and start it.
	defaultRestart = 30 * time.Second
)

// A Client calls one agent. It is safe for concurrent use.
type Client struct {
	Disk       DiskClient
	Filesystem FilesystemClient
	ISCSI      IscsiClient
	NodeSteps  NodestepsClient // not of the original's agent: see package staging, which can do without
	SMB        SmbClient
	System     SystemClient
	Volume     VolumeClient

	groups     []*group                 // empty when the connection belongs to the caller
	connection grpc.ClientConnInterface // nil unless it does
}

// Options adjusts New. The zero value works for the agent of this node.
type Options struct {
	// Timeout limits a call whose context has no deadline. Zero: two minutes.
	Timeout time.Duration
	// Restart is how long a call waits for an agent that was there and is gone, as during an upgrade. The call's own
	// deadline takes precedence. Zero: 30 seconds; negative: no wait.
	Restart time.Duration
	// SocketDir is the directory of the agent's sockets on systems without named pipes. Empty: the directory in the
	// environment variable CSI_PROXY_SOCKET_DIR.
	SocketDir string
	// PipePath returns the pipe of a group's version, for agents under other names than the usual ones. Nil:
	// client.PipePath.
	PipePath func(group string, version apiversion.Version) string
	// Dial is appended to the options of every gRPC connection, for interceptors.
	Dial []grpc.DialOption
}

// New returns a client of the agent of this node. It does not connect yet: the first call of a group connects that
// group, and Connect all groups. Close closes the connections.
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
// as one to an agent in this process. The connection belongs to the caller, and Close leaves it open.
func Over(connection grpc.ClientConnInterface) *Client {
	return (&Client{connection: connection}).over(func(group string) grpc.ClientConnInterface {
		return direct{group: group, connection: connection}
	})
}

// Connection returns the connection that Over was given; nil for a client of New.
func (c *Client) Connection() grpc.ClientConnInterface { return c.connection }

func (c *Client) over(connection func(group string) grpc.ClientConnInterface) *Client {
	c.Disk = diskapi.NewDiskClient(connection("disk"))
	c.Filesystem = filesystemapi.NewFilesystemClient(connection("filesystem"))
	c.ISCSI = iscsiapi.NewIscsiClient(connection("iscsi"))
	c.NodeSteps = nodestepsapi.NewNodestepsClient(connection("nodesteps"))
	c.SMB = smbapi.NewSmbClient(connection("smb"))
	c.System = systemapi.NewSystemClient(connection("system"))
	c.Volume = volumeapi.NewVolumeClient(connection("volume"))
	return c
}

// Connect connects to all groups at the same time and returns which version of each it found: "disk": "v1". A group
// that the agent does not serve is left out. Connect fails only if there is no group, with an error that gives the
// cause for every group. A group that is already connected stays so, unless a newer version of it is served by now.
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

// Close closes the connections; running and later calls fail.
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
