// SPDX-License-Identifier: Apache-2.0

// Package adminclient calls an agent's admin endpoint.
package adminclient

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
)

// pipe is the Windows name of the admin endpoint, which stands for a socket on other systems.
const pipe = `\\.\pipe\csiproxy-admin`

// A Client calls the two services of one agent's admin endpoint. An agent on a real node does not have EmulatedNode.
type Client struct {
	admin.AdminClient
	nodeapi.EmulatedNodeClient

	conn *grpc.ClientConn
}

// Dial connects to the agent of this machine: on Windows at its pipe, elsewhere in a socket directory; empty: the one
// in CSI_PROXY_SOCKET_DIR. If no agent answers, it fails within two seconds with an error that has the endpoint and the
// next command.
func Dial(ctx context.Context, socketDir string) (*Client, error) {
	if err := CheckPlace(socketDir); err != nil {
		return nil, err
	}
	return open(ctx, pipe, dial.Options{SocketDir: socketDir})
}

// DialPath connects to the agent whose admin endpoint, a socket or a pipe, has a path.
func DialPath(ctx context.Context, path string) (*Client, error) {
	return open(ctx, path, dial.Options{})
}

func open(ctx context.Context, target string, o dial.Options) (*Client, error) {
	o.Dial = append(o.Dial, grpc.WithUnaryInterceptor(explain))
	conn, err := dial.Open(ctx, target, o)
	if err != nil {
		return nil, Unreachable(err)
	}
	return &Client{admin.NewAdminClient(conn), nodeapi.NewEmulatedNodeClient(conn), conn}, nil
}

// CheckPlace returns an error unless Dial knows where the agent is: on Windows always, elsewhere from a socket
// directory, given or in CSI_PROXY_SOCKET_DIR.
func CheckPlace(socketDir string) error {
	switch windows := runtime.GOOS == "windows"; {
	case windows && socketDir != "":
		return errors.New("there is no socket directory on Windows: the agent serves named pipes; leave --socket-dir out")
	case !windows && socketDir == "" && os.Getenv(dial.SocketDirVariable) == "":
		return errors.New("no socket directory: give --socket-dir DIR or set " + dial.SocketDirVariable +
			"; an agent with an emulated node has its sockets in STATE_DIR/run unless told otherwise")
	}
	return nil
}

// Unreachable returns a failed connection's error with a text for an administrator.
func Unreachable(err error) error {
	start, admitted := "start one with csi-proxy-emulated -state-dir=DIR, or give the --socket-dir of the one that runs",
		"the user that runs the agent"
	if runtime.GOOS == "windows" {
		start, admitted = "start it with csi-proxy service start or its DaemonSet", "administrators and SYSTEM"
	}
	at := (*dial.Error)(nil)
	switch {
	case !errors.As(err, &at):
		return err
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return &Error{Text: fmt.Sprintf("no agent is running: nothing answers at %s; %s", at.Address, start), Err: err}
	case errors.Is(err, fs.ErrPermission):
		return &Error{Text: fmt.Sprintf("not allowed to use %s: only %s may", at.Address, admitted), Err: err}
	default:
		return &Error{Text: fmt.Sprintf("cannot reach the agent at %s: %v", at.Address, at.Err), Err: err}
	}
}

// FactsSince is the first release of the agent that has GetFacts.
const FactsSince = "the release after 0.1.0"

// An Error has a text for the user and an error for programs: a *dial.Error or a gRPC status.
type Error struct {
	Text string
	Err  error
}

func (e *Error) Error() string { return e.Text }

// Unwrap returns the error for programs.
func (e *Error) Unwrap() error { return e.Err }

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Explain returns a call's error with the agent's message as its text, without gRPC's prefix.
func Explain(err error) error {
	s, ok := status.FromError(err)
	if !ok || err == nil || errors.As(err, new(*Error)) {
		return err
	}
	return &Error{Text: s.Message(), Err: err}
}

// explain gives gRPC's own errors texts for the user: those without details. The agent's own have an ErrorInfo.
func explain(ctx context.Context, method string, request, response any, conn *grpc.ClientConn,
	invoke grpc.UnaryInvoker, options ...grpc.CallOption) error {
	err := invoke(ctx, method, request, response, conn, options...)
	s, ok := status.FromError(err)
	if !ok || len(s.Details()) > 0 {
		return err
	}
	switch emulated := strings.HasPrefix(method, "/"+nodeapi.EmulatedNode_ServiceDesc.ServiceName+"/"); {
	case s.Code() == codes.Unimplemented && emulated:
		return &Error{Text: "the agent has no emulated node, and this command is for one only", Err: err}
	case s.Code() == codes.Unimplemented:
		return &Error{Text: "this agent is too old for that: it takes an agent of " + FactsSince +
			"; csi-proxyctl version", Err: err}
	case s.Code() == codes.Unavailable:
		return &Error{Text: "the agent ended during the call", Err: err}
	}
	return err
}
