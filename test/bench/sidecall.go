// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	systemapi "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
)

// A sideCall is a call beside the echo: what each took, in milliseconds a call.
type sideCall struct {
	Name       string
	Failure    string // the code with which it fails; then what it takes is that of a failure
	Call, Echo figure
	Most       float64 // times the echo, one caller; 0: there is no such goal
	Least      float64 // of the echo's calls a second, many callers; 0: one caller
}

// Ratio returns how many times the echo's time a call takes, or what part of the echo's rate it reaches.
func (c sideCall) Ratio() figure {
	if c.Least != 0 {
		return c.Echo.over(c.Call)
	}
	return c.Call.over(c.Echo)
}

// Goal returns the goal of the call.
func (c sideCall) Goal() string {
	switch {
	case c.Least != 0:
		return fmt.Sprintf("≥ %.2f", c.Least)
	case c.Most != 0:
		return fmt.Sprintf("≤ %.2f", c.Most)
	}
	return ""
}

// A sideRequest is a request that every release answers, in a version that every release has.
type sideRequest struct {
	endpoint, method string
	message, reply   proto.Message
}

func biosRequest() sideRequest {
	return sideRequest{"system-v1alpha1", "/v1alpha1.System/GetBIOSSerialNumber", &systemapi.GetBIOSSerialNumberRequest{},
		&systemapi.GetBIOSSerialNumberResponse{}}
}

func serviceRequest(name string) sideRequest {
	return sideRequest{"system-v1alpha1", "/v1alpha1.System/GetService", &systemapi.GetServiceRequest{Name: name},
		&systemapi.GetServiceResponse{}}
}

func pathRequest() sideRequest {
	return sideRequest{"filesystem-v1", "/v1.Filesystem/PathExists", &filesystem.PathExistsRequest{Path: plugins},
		&filesystem.PathExistsResponse{}}
}

func (r sideRequest) call(conn *grpc.ClientConn) call {
	return func(ctx context.Context) error {
		return conn.Invoke(ctx, r.method, r.message, r.reply.ProtoReflect().New().Interface())
	}
}

func (r sideRequest) open(ctx context.Context, p program, count int) (connections, error) {
	return openConnections(ctx, `\\.\pipe\csi-proxy-`+r.endpoint, dial.Options{SocketDir: p.sockets}, count)
}

// sideCalls measures calls beside the echo.
func (b *bench) sideCalls(ctx context.Context, p program) (all []sideCall, err error) {
	path := pathRequest() // no link is on the way
	err = b.withEcho(ctx, func(echo string) error {
		return with(ctx, p, func(int, float64) error {
			for _, c := range []struct {
				sideCall
				request                sideRequest
				callers, connectionsOf int
			}{
				{sideCall{Name: "GetBIOSSerialNumber ÷ echo", Most: 1.1}, biosRequest(), 1, 1},
				{sideCall{Name: "GetService ÷ echo", Most: 3}, serviceRequest(p.at.service), 1, 1},
				{sideCall{Name: "PathExists, one caller ÷ echo", Most: 1.1}, path, 1, 1},
				{sideCall{Name: fmt.Sprintf("PathExists, %d callers, one connection ÷ echo's rate", callers), Least: .85}, path,
					callers, 1},
				{sideCall{Name: fmt.Sprintf("PathExists, %d own connections ÷ echo's rate", callers), Least: .98},
					path, callers, callers},
			} {
				if err := c.measure(ctx, b.options, p, echo, c.request, c.callers, c.connectionsOf); err != nil {
					return fmt.Errorf("%s: %w", c.Name, err)
				}
				all = append(all, c.sideCall)
			}
			return nil
		})
	})
	return all, err
}

// measure makes the call and the echo in turns. A call that fails is measured like another: upstream's GetService may.
func (c *sideCall) measure(ctx context.Context, o options, p program, echo string, r sideRequest,
	callers, conns int) error {
	agent, err := r.open(ctx, p, conns)
	if err != nil {
		c.Failure = status.Code(err).String()
		return nil // the table shows it
	}
	defer agent.close()
	if err := agent[0].Invoke(ctx, r.method, r.message, r.reply); err != nil {
		c.Failure = status.Code(err).String()
	}
	echoes, err := openConnections(ctx, echo, dial.Options{}, conns)
	if err != nil {
		return err
	}
	defer echoes.close()
	took, err := inTurns(ctx, o, callers, [2]call{
		agent.in(func(conn *grpc.ClientConn) call {
			one := r.call(conn)
			return func(ctx context.Context) error {
				if err := one(ctx); err != nil && c.Failure == "" {
					return err
				}
				return ctx.Err()
			}
		}),
		echoes.in(func(conn *grpc.ClientConn) call { return echoOf(conn, r.message, r.reply) }),
	})
	c.Call, c.Echo = took[0], took[1]
	return err
}

type connections []*grpc.ClientConn

func openConnections(ctx context.Context, address string, o dial.Options, count int) (connections, error) {
	var all connections
	for range count {
		conn, err := dial.Open(ctx, address, o)
		if err != nil {
			all.close()
			return nil, err
		}
		all = append(all, conn)
	}
	return all, nil
}

func (all connections) close() {
	for _, conn := range all {
		_ = conn.Close()
	}
}

// in returns a call that takes a connection which no other call has at the moment. A single one is shared by all.
func (all connections) in(on func(*grpc.ClientConn) call) call {
	if len(all) == 1 {
		return on(all[0])
	}
	free := make(chan call, len(all))
	for _, conn := range all {
		free <- on(conn)
	}
	return func(ctx context.Context) error {
		c := <-free
		defer func() { free <- c }()
		return c(ctx)
	}
}
