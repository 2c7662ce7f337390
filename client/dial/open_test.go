// SPDX-License-Identifier: Apache-2.0

package dial_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
	disk "github.com/kubernetes-csi/csi-proxy/client/groups/disk/v1"
)

func TestOpenReachesTheAgentInEverySpelling(t *testing.T) {
	useSockets(t)
	startAgent(t, pipe)
	for _, target := range []string{
		`\\.\\pipe\\` + pipe,
		`\\.\pipe\` + pipe,
		`\\\\.\\PIPE\\` + pipe,
		`//./pipe/` + pipe,
	} {
		t.Run(target, func(t *testing.T) {
			client, err := disk.NewClientWithPipePath(target)
			if err != nil {
				t.Fatal(err)
			}
			defer closeClient(t, client)
			call(t, client)
		})
	}
}

func TestClientsMakeOneConnectionAndReleaseIt(t *testing.T) {
	useSockets(t)
	agent := startAgent(t, pipe)
	const clients = 10
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			client, err := disk.NewClient()
			if err != nil {
				t.Error(err)
				return
			}
			call(t, client)
			closeClient(t, client)
		})
	}
	group.Wait()
	agent.awaitClosed(t, clients)
	if got := agent.accepted.Load(); got != clients {
		t.Errorf("agent accepted %d connections, want %d", got, clients)
	}
}

// TestMissingAgent gives the client no reason to wait: it must fail by itself, well before the test's context ends.
func TestMissingAgent(t *testing.T) {
	useSockets(t)
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	conn, err := dial.Open(ctx, `\\.\\pipe\\`+pipe, dial.Options{})
	if err == nil {
		_ = conn.Close()
		t.Fatal("Open found an agent, want an error")
	}
	if ctx.Err() != nil {
		t.Fatalf("Open waited for its context: %v", err)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error = %v, want one that is fs.ErrNotExist", err)
	}
	var failure *dial.Error
	if !errors.As(err, &failure) {
		t.Fatalf("error is a %T, want a *dial.Error", err)
	}
	if got, want := failure.Name, `\\.\pipe\`+pipe; got != want {
		t.Errorf("Name = %s, want %s", got, want)
	}
	for _, want := range []string{`\\.\pipe\` + pipe, failure.Address, "check that csi-proxy runs on this node"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error = %q, want it to contain %q", err, want)
		}
	}
}

func TestOpenOfANonAgentReleasesTheConnection(t *testing.T) {
	useSockets(t)
	listener := listen(t, pipe)
	ended := make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			ended <- err
			return
		}
		defer conn.Close()
		if _, err = conn.Write([]byte("220 this is no agent\r\n")); err == nil {
			_, err = io.Copy(io.Discard, conn) // until the client hangs up
		}
		ended <- errors.Join(err, listener.Close())
	}()
	client, err := disk.NewClient()
	if err == nil {
		closeClient(t, client)
		t.Fatal("NewClient succeeded, want an error")
	}
	if want := "does not speak gRPC"; !strings.Contains(err.Error(), want) {
		t.Errorf("error = %q, want it to contain %q", err, want)
	}
	if err := <-ended; err != nil && !errors.Is(err, net.ErrClosed) {
		t.Logf("the listener saw the connection end with %v", err)
	}
}

// TestOpenThatFailsGivesUpItsConnection watches an attempt that gRPC itself would let run for 20 seconds.
func TestOpenThatFailsGivesUpItsConnection(t *testing.T) {
	useSockets(t)
	ctx, cancel := context.WithCancel(t.Context())
	released := make(chan struct{})
	conn, err := dial.Open(ctx, `\\.\pipe\`+pipe, dial.Options{Dial: []grpc.DialOption{
		grpc.WithContextDialer(func(attempt context.Context, _ string) (net.Conn, error) {
			cancel()
			<-attempt.Done()
			close(released)
			return nil, attempt.Err()
		}),
	}})
	if err == nil {
		_ = conn.Close()
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Open = %v, want context.Canceled", err)
	}
	deadline, stop := context.WithTimeout(t.Context(), testTimeout/3)
	defer stop()
	select {
	case <-released:
	case <-deadline.Done():
		t.Error("the attempt goes on after Open failed")
	}
}

func TestClientReconnectsAfterAgentRestart(t *testing.T) {
	useSockets(t)
	first := startAgent(t, pipe)
	client := newClient(t)
	call(t, client)

	first.stop()
	_, err := client.GetDiskStats(t.Context(), &diskapi.GetDiskStatsRequest{})
	if got := status.Code(err); got != codes.Unavailable {
		t.Errorf("call without an agent = %v, want %v", err, codes.Unavailable)
	}

	startAgent(t, pipe)
	call(t, client, grpc.WaitForReady(true))
}

// TestCallWithoutAgentNamesThePipe reads the text that ends up in a pod's events: a call's, not NewClient's.
func TestCallWithoutAgentNamesThePipe(t *testing.T) {
	useSockets(t)
	agent := startAgent(t, pipe)
	client := newClient(t)
	agent.stop()
	agent.awaitClosed(t, 1)
	var err error
	for range 2 { // the first call may still run into the broken connection itself
		_, err = client.GetDiskStats(t.Context(), &diskapi.GetDiskStatsRequest{})
	}
	if err == nil || !strings.Contains(err.Error(), pipe) {
		t.Errorf("error = %v, want one that names %s", err, pipe)
	}
}

func TestOpenAppendsTheCallersOptions(t *testing.T) {
	useSockets(t)
	startAgent(t, pipe)
	var called string
	conn, err := dial.Open(t.Context(), `\\.\pipe\`+pipe, dial.Options{Dial: []grpc.DialOption{
		grpc.WithUnaryInterceptor(func(ctx context.Context, method string, request, reply any, conn *grpc.ClientConn,
			invoke grpc.UnaryInvoker, opts ...grpc.CallOption) error {
			called = method
			return invoke(ctx, method, request, reply, conn, opts...)
		}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	call(t, diskapi.NewDiskClient(conn))
	if want := "/v1.Disk/GetDiskStats"; called != want {
		t.Errorf("interceptor saw %q, want %q", called, want)
	}
}

// call makes one call and checks its reply.
func call(t *testing.T, client diskapi.DiskClient, opts ...grpc.CallOption) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	reply, err := client.GetDiskStats(ctx, &diskapi.GetDiskStatsRequest{DiskNumber: 7}, opts...)
	if err != nil {
		t.Errorf("GetDiskStats: %v", err)
		return
	}
	if got, want := reply.GetTotalBytes(), int64(7); got != want {
		t.Errorf("GetDiskStats = %d bytes, want %d", got, want)
	}
}

// newClient connects to the agent, at the pipe of the client's version.
func newClient(t *testing.T) *disk.Client {
	t.Helper()
	client, err := disk.NewClient()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeClient(t, client) })
	return client
}

func closeClient(t *testing.T, client *disk.Client) {
	t.Helper()
	if err := client.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
}
