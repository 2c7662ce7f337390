// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/versions"
)

// startLimit is how long a program may take to be ready on a busy machine.
const startLimit = time.Minute

// A program is an agent, or the echo.
type program struct {
	name      string
	command   []string
	sockets   string   // the directory of its endpoints, where they are not pipes
	endpoints []string // it is ready when all of them take connections
}

// findEndpoints starts an agent and notes which of this release's endpoints it serves. An agent of another release does
// not report when it serves all of them, so after one it is given time.
func (p *program) findEndpoints(ctx context.Context) error {
	p.endpoints = []string{p.address(measured)}
	return p.with(ctx, func(int, time.Duration) error {
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
		p.endpoints = nil
		for _, g := range versions.Groups() {
			for _, v := range append(g.Versions(), g.Hub) {
				address := p.address(g.Name + "-" + v)
				if takesConnections(address) {
					p.endpoints = append(p.endpoints, address)
				}
			}
		}
		return nil
	})
}

// address returns where an agent serves a version of a group.
func (p *program) address(endpoint string) string {
	if p.sockets != "" {
		return filepath.Join(p.sockets, "csi-proxy-"+endpoint+".sock")
	}
	return `\\.\pipe\csi-proxy-` + endpoint
}

// with starts a program, waits until its endpoints take connections, calls do, and kills the program.
func (p *program) with(ctx context.Context, do func(pid int, took time.Duration) error) error {
	command := exec.CommandContext(ctx, p.command[0], p.command[1:]...) //nolint:gosec // the programs to measure
	var log strings.Builder
	command.Stderr = &log
	if _, err := command.StdinPipe(); err != nil { // the echo ends with it
		return err
	}
	begin := time.Now()
	if err := command.Start(); err != nil {
		return err
	}
	end := func() {
		_ = command.Process.Kill()
		_ = command.Wait() // its error reports that it was killed
	}
	for _, address := range p.endpoints {
		for !takesConnections(address) {
			if time.Since(begin) > startLimit {
				end() // its log is complete then
				return fmt.Errorf("%s takes no connections at %s\n%s", p.name, address, log.String())
			}
			if err := pause(ctx, time.Millisecond); err != nil {
				end()
				return err
			}
		}
	}
	took := time.Since(begin)
	defer end()
	if err := onlyServer(ctx, command.Process.Pid); err != nil {
		return err
	}
	return do(command.Process.Pid, took)
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
