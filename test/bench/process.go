// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"
	"google.golang.org/grpc/credentials/insecure"
)

// startLimit is how long a server may take to accept calls.
const startLimit = time.Minute

// startAgent starts the agent as an administrator would, without flags that make it faster, and waits until it serves.
func startAgent(ctx context.Context, binary, dir string) (stop func(), err error) {
	log, err := os.Create(filepath.Join(dir, "agent.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, binary, "-host=emulated", "-state-dir="+dir) //nolint:gosec // the binary that is to be measured
	cmd.Stderr = log
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // or it is gone already
		_ = cmd.Wait()
	}
	late := time.AfterFunc(startLimit, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "ready ") {
		stop()
		text, _ := os.ReadFile(log.Name())
		return nil, fmt.Errorf("the agent is not ready: %q, %w\n%s", line, err, text)
	}
	return stop, nil
}

// startEcho starts the echo server and waits until it accepts.
func startEcho(ctx context.Context, command []string, socket string) (stop func(), err error) {
	cmd := exec.CommandContext(ctx, command[0], append(command[1:], socket)...) //nolint:gosec // this very program
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	stop = func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	}
	conns, err := connect(socket, 1)
	if err != nil {
		stop()
		return nil, err
	}
	defer conns.close()
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	s := subject{path: echoPath}.withEmptyMessages()
	if err := s.call(ctx, conns[0], grpc.WaitForReady(true)); err != nil {
		stop()
		return nil, errors.Join(errors.New("the echo server does not answer"), err)
	}
	return stop, nil
}

// connections are some to one socket.
type connections []*grpc.ClientConn

func connect(socket string, n int) (connections, error) {
	var conns connections
	for range n {
		conn, err := grpc.NewClient("unix:"+socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			conns.close()
			return nil, err
		}
		conns = append(conns, conn)
	}
	return conns, nil
}

// ready waits until all are connected, so that no call waits for that.
func (c connections) ready(ctx context.Context) error {
	for _, conn := range c {
		conn.Connect()
		for state := conn.GetState(); state != connectivity.Ready; state = conn.GetState() {
			if !conn.WaitForStateChange(ctx, state) {
				return ctx.Err()
			}
		}
	}
	return nil
}

func (c connections) close() {
	for _, conn := range c {
		_ = conn.Close()
	}
}
