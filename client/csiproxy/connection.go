// SPDX-License-Identifier: Apache-2.0

package csiproxy

import (
	"context"
	"errors"
	"path"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	nodestepsapi "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	smbapi "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	systemapi "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
)

// A Client calls one agent. It is safe for concurrent use. New makes one that connects to the agent of this node.
type Client struct {
	Disk       DiskClient
	Filesystem FilesystemClient
	ISCSI      ISCSIClient
	NodeSteps  NodeStepsClient // not of the original's agent: see module mounter
	SMB        SMBClient
	System     SystemClient
	Volume     VolumeClient

	groups     map[string]*group        // by name; nil when the connection belongs to the caller
	connection grpc.ClientConnInterface // nil unless it does
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
	c.NodeSteps = nodestepsapi.NewNodeStepsClient(connection("nodesteps"))
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
	for name, g := range c.groups {
		all.Go(func() {
			version, err := g.Connect(ctx)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				errs = append(errs, err)
				return
			}
			found[name] = version
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
		errs = append(errs, g.Close())
	}
	return errors.Join(errs...)
}

// direct is a connection that serves the newest version of a group.
type direct struct {
	noStreams
	group      string
	connection grpc.ClientConnInterface
}

// Typed returns a connection whose errors are those of a Client, for calls that a Client does not have.
func Typed(connection grpc.ClientConnInterface, group string) grpc.ClientConnInterface {
	return direct{group: group, connection: connection}
}

func (d direct) Invoke(ctx context.Context, method string, request, response any, opts ...grpc.CallOption) error {
	err := d.connection.Invoke(ctx, method, request, response, opts...)
	if err == nil {
		return nil
	}
	p, _ := versions.ParsePath(method)
	return failed(err, d.group, p.Version, path.Base(method))
}

// noStreams is the half of a gRPC connection that the API does not use.
type noStreams struct{}

// NewStream fails: no method of the API streams.
func (noStreams) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "the CSI Proxy API has no streams")
}
