// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

const (
	echoPipe = `\\.\pipe\csi-proxy-winbench-echo`
	echoPath = "/winbench.Echo/Echo"
)

// serveEcho serves a gRPC server without options or interceptors until its standard input ends, which it does with the
// process that started it.
func serveEcho(stdin io.Reader, stdout io.Writer) error {
	l, err := listen(echoPipe)
	if err != nil {
		return err
	}
	s := grpc.NewServer()
	s.RegisterService(&grpc.ServiceDesc{ServiceName: "winbench.Echo", Methods: []grpc.MethodDesc{{
		MethodName: "Echo",
		Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			message := new(wrapperspb.BytesValue)
			if err := decode(message); err != nil {
				return nil, err
			}
			return message, nil
		},
	}}}, nil)
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		s.Stop()
	}()
	if _, err := fmt.Fprintln(stdout, "ready"); err != nil {
		return err
	}
	return s.Serve(l)
}

// startEcho starts this very program as the echo.
func startEcho(ctx context.Context) (stop func(), err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.CommandContext(ctx, self, "echo")
	command.Stderr = os.Stderr
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		_ = stdin.Close()
		_ = command.Wait()
	}
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		stop()
		return nil, fmt.Errorf("the echo is not ready: %w", err)
	}
	return stop, nil
}
