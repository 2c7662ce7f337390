// SPDX-License-Identifier: Apache-2.0

package adminclient

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
)

// pipe is the admin endpoint under its Windows name, which off Windows stands for a socket.
const pipe = `\\.\pipe\csiproxy-admin`

// A Client calls the two services of one agent's admin endpoint. An agent that works on a real node does not have
// EmulatedNode.
type Client struct {
	admin.AdminClient
	admin.EmulatedNodeClient

	conn *grpc.ClientConn
}

// Dial connects to the agent that serves a socket directory; empty: the one in CSI_PROXY_SOCKET_DIR. It fails within
// two seconds when none answers, with an error that names the endpoint and says what to do.
func Dial(ctx context.Context, socketDir string) (*Client, error) {
	if runtime.GOOS != "windows" && socketDir == "" && os.Getenv(dial.SocketDirVariable) == "" {
		return nil, errors.New("no socket directory: give --socket-dir DIR or set " + dial.SocketDirVariable +
			"; an agent with an emulated node has its sockets in STATE_DIR/run unless told otherwise")
	}
	conn, err := dial.Open(ctx, pipe, dial.Options{SocketDir: socketDir})
	if err != nil {
		return nil, unreachable(err)
	}
	return &Client{AdminClient: admin.NewAdminClient(conn), EmulatedNodeClient: admin.NewEmulatedNodeClient(conn), conn: conn}, nil
}

// unreachable says what a failed connection means to an administrator.
func unreachable(err error) error {
	at := (*dial.Error)(nil)
	switch {
	case !errors.As(err, &at):
		return err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("no agent is running: nothing answers at %s; start one with csi-proxy, or give the --socket-dir of the one that runs", at.Address)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("not allowed to use %s: only the user that runs the agent may", at.Address)
	default:
		return fmt.Errorf("cannot reach the agent at %s: %w", at.Address, at.Err)
	}
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Explain is an error of a call as a person should read it: the agent's message without gRPC's framing.
func Explain(err error) error {
	s, ok := status.FromError(err)
	if !ok || err == nil {
		return err
	}
	if s.Code() == codes.Unimplemented {
		return errors.New("the agent has no emulated node: it works on a real one, which this cannot change")
	}
	return errors.New(s.Message())
}
