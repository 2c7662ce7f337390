// SPDX-License-Identifier: Apache-2.0

// Package dial opens gRPC connections to the endpoints of a CSI Proxy agent: named pipes on Windows, unix sockets
// elsewhere. It is the one place where the clients of this module meet the operating system.
package dial

import (
	"context"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
)

const (
	// openTimeout bounds each attempt to open an endpoint. Drivers choose their API version by whether it succeeds.
	openTimeout = 2 * time.Second

	// An agent that restarts is back within seconds and has few clients, so these may try often.
	firstRetry = 100 * time.Millisecond
	lastRetry  = time.Second

	// maxMessageBytes is gRPC's own default for replies, both ways; the largest message of the API is far below it.
	maxMessageBytes = 4 << 20
)

// Options adjusts Open. The generated clients use the zero value.
type Options struct {
	// SocketDir is the directory of the agent's sockets off Windows; empty: the one in SocketDirVariable.
	SocketDir string
	// Dial is appended to the options of the gRPC connection, for interceptors.
	Dial []grpc.DialOption
}

// Open connects to the agent that listens at target: a named pipe in any spelling of \\.\pipe\NAME. Off Windows, this
// stands for the unix socket NAME.sock in the socket directory, and target may also be an absolute path.
//
// It returns once the agent answers. If the endpoint cannot be opened within two seconds, or before ctx ends, it fails
// with an *Error. An endpoint that opens but answers later than that counts as an agent on a slow node: calls wait for
// it. Calls use the one connection made here; if the agent goes away, the next call makes it again.
//
// The context limits only Open, not the life of the connection.
func Open(ctx context.Context, target string, options Options) (*grpc.ClientConn, error) {
	where, err := locate(target, options.SocketDir)
	if err != nil {
		return nil, err
	}
	opener := &opener{endpoint: where, limit: openTimeout}
	// The target is a constant: a pipe's name fits in no URL. Every HTTP/2 server considers the authority valid.
	conn, err := grpc.NewClient("passthrough:///csi-proxy", append(dialOptions(opener), options.Dial...)...)
	if err != nil {
		return nil, &Error{Name: where.name, Address: where.address, Err: err}
	}
	if err := opener.await(ctx, conn); err != nil {
		_ = conn.Close() // its error says nothing about the agent
		return nil, err
	}
	return conn, nil
}

// dialOptions returns the options of all connections. There is no keepalive: both ends are on one machine, so a peer
// that dies breaks the connection, and servers punish pings more frequent than every five minutes.
func dialOptions(o *opener) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(o.open),
		grpc.WithNoProxy(),
		grpc.WithDisableServiceConfig(),
		grpc.WithAuthority("localhost"),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff: backoff.Config{
				BaseDelay:  firstRetry,
				Multiplier: backoff.DefaultConfig.Multiplier,
				Jitter:     backoff.DefaultConfig.Jitter,
				MaxDelay:   lastRetry,
			},
			// The agent of a slow node may take long for its first reply.
			MinConnectTimeout: 20 * time.Second,
		}),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(maxMessageBytes),
			grpc.MaxCallSendMsgSize(maxMessageBytes),
		),
	}
}

// An opener opens an endpoint whenever its connection asks, and remembers the last result, which gRPC does not report.
type opener struct {
	endpoint endpoint
	limit    time.Duration // of one attempt

	mu     sync.Mutex
	opened bool
	err    error
}

// open is the dialer of a gRPC connection. The address that gRPC passes has no meaning here.
func (o *opener) open(ctx context.Context, _ string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	conn, err := openAddress(ctx, o.endpoint.address)
	if err != nil {
		if ctx.Err() != nil {
			err = errBusy
		}
		err = o.failure(err)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.opened, o.err = err == nil, err
	return conn, err
}

// await starts connecting and waits until an agent is found or known to be missing.
func (o *opener) await(ctx context.Context, conn *grpc.ClientConn) error {
	limited, cancel := context.WithTimeout(ctx, o.limit)
	defer cancel()
	for {
		state := conn.GetState()
		switch state {
		case connectivity.Ready:
			return nil
		case connectivity.Idle:
			conn.Connect()
		case connectivity.TransientFailure, connectivity.Shutdown:
			if _, err := o.last(); err != nil {
				return err
			}
			return o.failure(errNoAnswer)
		}
		if conn.WaitForStateChange(limited, state) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return o.failure(err)
		}
		if opened, _ := o.last(); opened {
			return nil
		}
		return o.failure(errBusy)
	}
}

// last returns the result of the latest attempt.
func (o *opener) last() (opened bool, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.opened, o.err
}

// failure wraps cause with the name of the endpoint.
func (o *opener) failure(cause error) error {
	return &Error{Name: o.endpoint.name, Address: o.endpoint.address, Err: cause}
}
