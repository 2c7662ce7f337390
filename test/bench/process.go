// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// startLimit is how long a program may take to be ready on a busy machine.
const startLimit = time.Minute

// A program is a program that is started and called.
type program struct {
	name    string
	command []string
	silent  bool     // it does not report when it is ready
	awaits  []string // endpoints that take connections when it is ready; none of a silent one: it is given time
	sockets string   // the directory of an agent's endpoints, where they are not pipes
	at      place    // what an agent's reads ask about
}

// with starts a program, calls do with it, and kills it. The agent prints a line when its last endpoint is open, and
// the empty program prints one at once; polling the endpoints meanwhile would take processor time from the measured
// program.
func with(ctx context.Context, p program, do func(pid int, took float64) error) error {
	command := exec.CommandContext(ctx, p.command[0], p.command[1:]...) //nolint:gosec // the binaries to measure
	var log strings.Builder
	command.Stderr = &log
	stdout, err := command.StdoutPipe()
	if err != nil {
		return err
	}
	if _, err := command.StdinPipe(); err != nil { // the empty program and the echo end with it
		return err
	}
	begin := time.Now()
	if err := command.Start(); err != nil {
		return err
	}
	defer func() {
		_ = command.Process.Kill()
		_ = command.Wait() // its error reports that it was killed
	}()
	switch {
	case len(p.awaits) > 0:
		err = p.await(ctx, begin)
	case p.silent:
		err = pause(ctx, 5*time.Second)
	default:
		late := time.AfterFunc(startLimit, func() { _ = command.Process.Kill() })
		_, err = bufio.NewReader(stdout).ReadString('\n')
		late.Stop()
	}
	took := since(begin)
	if err != nil {
		_ = command.Wait() // its log is complete then
		return fmt.Errorf("%s is not ready: %w\n%s", p.name, err, log.String())
	}
	if err := onlyServer(ctx, command.Process.Pid); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return do(command.Process.Pid, took)
}

// await waits until all endpoints take connections. It asks each of them once a millisecond at most, until it does.
func (p program) await(ctx context.Context, begin time.Time) error {
	for _, name := range p.awaits {
		for !takesConnections(p.sockets, name) {
			if time.Since(begin) > startLimit {
				return fmt.Errorf("%s takes no connections", name)
			}
			if err := pause(ctx, time.Millisecond); err != nil {
				return err
			}
		}
	}
	return nil
}

// pause waits, unless the context ends first.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// serveEcho serves gRPC without options or interceptors. It ends with its standard input, as the process that started
// it does.
func serveEcho(address string) error {
	l, err := listen(address)
	if err != nil {
		return err
	}
	s := grpc.NewServer()
	s.RegisterService(&grpc.ServiceDesc{ServiceName: "bench.Echo", Methods: []grpc.MethodDesc{{
		MethodName: "Echo",
		Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			message := new(wrapperspb.BytesValue)
			return message, decode(message)
		},
	}}}, nil)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		s.Stop()
	}()
	if _, err := os.Stdout.WriteString("ready\n"); err != nil {
		return err
	}
	return s.Serve(l)
}

// echoOf returns an echo call whose request and response together are as long as those of another call.
func echoOf(conn *grpc.ClientConn, request, response proto.Message) call {
	const overhead = 2 // tag and length of the field
	message := wrapperspb.Bytes(make([]byte, max((proto.Size(request)+proto.Size(response))/2-overhead, 0)))
	return func(ctx context.Context) error {
		return conn.Invoke(ctx, "/bench.Echo/Echo", message, new(wrapperspb.BytesValue))
	}
}
