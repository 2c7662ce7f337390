// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// loadClients are one driver's connections, each to the agent that there is. Calls are made once: the driver repeats
// them.
type loadClients struct {
	Disk       diskapi.DiskClient
	Filesystem filesystemapi.FilesystemClient
	Volume     volumeapi.VolumeClient
	conns      []*grpc.ClientConn
}

// dial returns clients for the paths of an agent's endpoints.
func dial(path func(endpoint string) string) *loadClients {
	c := &loadClients{}
	open := func(endpoint string) *grpc.ClientConn {
		conn, err := grpc.NewClient("passthrough:///"+endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				return testnode.DialRaw(ctx, path(endpoint))
			}),
			grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: time.Second,
				Backoff: backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1, MaxDelay: 10 * time.Millisecond}}))
		if err != nil {
			panic(err)
		}
		c.conns = append(c.conns, conn)
		return conn
	}
	c.Disk = diskapi.NewDiskClient(open("csi-proxy-disk-v1"))
	c.Filesystem = filesystemapi.NewFilesystemClient(open("csi-proxy-filesystem-v2alpha1"))
	c.Volume = volumeapi.NewVolumeClient(open("csi-proxy-volume-v2alpha1"))
	return c
}

func (c *loadClients) close() {
	for _, conn := range c.conns {
		_ = conn.Close()
	}
}
