// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"context"
	"net"
	"path"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// loadClients are one driver's connections, each to the agent that there is. Calls are made once, where a client of
// csiproxy.New repeats them: the driver does.
type loadClients struct {
	*caller.Calls
	connections
}

// connections are by the services that they are to.
type connections map[string]*grpc.ClientConn

func (c connections) Invoke(ctx context.Context, method string, in, out any, o ...grpc.CallOption) error {
	return c[path.Dir(method)].Invoke(ctx, method, in, out, o...)
}

func (c connections) NewStream(ctx context.Context, d *grpc.StreamDesc, method string,
	o ...grpc.CallOption) (grpc.ClientStream, error) {
	return c[path.Dir(method)].NewStream(ctx, d, method, o...)
}

// dial returns clients for the addresses of an agent's endpoints.
func dial(t *testing.T, address func(endpoint string) string) *loadClients {
	t.Helper()
	c := connections{}
	for service, endpoint := range map[string]string{"/v1.Disk": "csi-proxy-disk-v1",
		"/v2alpha1.Filesystem": "csi-proxy-filesystem-v2alpha1", "/v2alpha1.Volume": "csi-proxy-volume-v2alpha1",
		"/csiproxy.nodesteps.v1alpha1.NodeSteps": "csi-proxy-nodesteps-v1alpha1"} {
		conn, err := grpc.NewClient("passthrough:///"+endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) {
				return testnode.DialRaw(ctx, address(endpoint))
			}),
			grpc.WithConnectParams(grpc.ConnectParams{MinConnectTimeout: time.Second,
				Backoff: backoff.Config{BaseDelay: 10 * time.Millisecond, Multiplier: 1, MaxDelay: 10 * time.Millisecond}}))
		caller.OK(t, err)
		c[service] = conn
	}
	return &loadClients{caller.By(t, csiproxy.Over(c)), c}
}

func (c connections) close() {
	for _, conn := range c {
		_ = conn.Close()
	}
}
