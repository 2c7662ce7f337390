// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/versions"
)

// limit is how long a program may take to be ready, on a machine that does much else.
const limit = time.Minute

// A program is one that is started again and again. Without pipes it ends with its standard input or before.
type program struct {
	name    string
	command []string
	ends    bool     // at once, by itself
	pipes   []string // that are open when it is ready
	reads   []read   // to call
}

// programs are the empty program and the agent on either host.
func programs(o options, dir string) []program {
	pipes := pipes()
	return []program{
		{name: "empty Go program", command: []string{o.empty}},
		{name: "csi-proxy version", command: []string{o.agent, "version"}, ends: true},
		{name: "agent, -host=windows", command: []string{o.agent, "-host=windows"}, pipes: pipes, reads: windowsReads()},
		{name: "agent, -host=emulated", command: []string{o.agent, "-host=emulated", "-state-dir=" + filepath.Join(dir, "node")}, pipes: pipes, reads: emulatedReads()},
	}
}

// pipes are those of all versions.
func pipes() (names []string) {
	for _, g := range versions.Groups() {
		for _, v := range append(g.Versions(), g.Hub) {
			names = append(names, pipeOf(g.Name, v))
		}
	}
	return names
}

func pipeOf(group, version string) string { return `\\.\pipe\csi-proxy-` + group + "-" + version }

// A running program is ready.
type running struct {
	command *exec.Cmd
	stdin   io.Closer
	said    time.Duration // from before CreateProcess until its first line came
	line    string
}

// start starts a program and returns when it is ready: an agent says its first line when its last pipe is open, which is
// then looked at. Asking for the pipes meanwhile would take the processor from what is measured.
func start(ctx context.Context, p program) (*running, error) {
	r := &running{command: exec.CommandContext(ctx, p.command[0], p.command[1:]...)} //nolint:gosec // the binaries that are to be measured
	var log strings.Builder
	r.command.Stderr = &log
	stdout, err := r.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if r.stdin, err = r.command.StdinPipe(); err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := r.command.Start(); err != nil {
		return nil, err
	}
	late := time.AfterFunc(limit, func() { _ = r.command.Process.Kill() })
	defer late.Stop()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	r.said, r.line = time.Since(begin), strings.TrimSpace(line)
	if err != nil {
		r.kill()
		return nil, fmt.Errorf("it is not ready: %w\n%s", err, log.String())
	}
	for _, name := range p.pipes {
		if err := isOpen(name); err != nil {
			r.kill()
			return nil, err
		}
	}
	return r, nil
}

// kill ends the program and returns when it is gone.
func (r *running) kill() {
	_ = r.command.Process.Kill()
	_ = r.command.Wait() // its error says that it was killed
}

// exit returns how long a program takes from its start to its end when its standard input is empty.
func exit(ctx context.Context, p program) (time.Duration, error) {
	command := exec.CommandContext(ctx, p.command[0], p.command[1:]...) //nolint:gosec // the binaries that are to be measured
	begin := time.Now()
	err := command.Run()
	return time.Since(begin), err
}

// starts are those of one program, and what it holds when it is ready.
type starts struct {
	name         string
	said, exited series
	idle, used   memory // after start, and after the calls
	calls        int    // between the two
	readings     []reading
}

// add starts the program once.
func (s *starts) add(ctx context.Context, p program) error {
	if len(p.pipes) == 0 {
		took, err := exit(ctx, p)
		if err != nil {
			return err
		}
		s.exited = append(s.exited, took)
	}
	if p.ends {
		return nil
	}
	r, err := start(ctx, p)
	if err != nil {
		return err
	}
	defer r.kill()
	s.said = append(s.said, r.said)
	if want := fmt.Sprintf("ready %d", len(p.pipes)); len(p.pipes) > 0 && r.line != want {
		return errors.New("it said " + r.line + ", want " + want)
	}
	return nil
}

// observe starts the program once more, looks at its memory, calls it, and looks again.
func (r *results) observe(ctx context.Context, s *starts, p program) error {
	if p.ends {
		return nil
	}
	running, err := start(ctx, p)
	if err != nil {
		return err
	}
	defer running.kill()
	if s.idle, err = r.memoryOf(ctx, running); err != nil || len(p.reads) == 0 {
		return err
	}
	if s.readings, err = r.call(ctx, p); err != nil {
		return err
	}
	for _, reading := range s.readings {
		s.calls += len(reading.latencies)
	}
	s.used, err = r.memoryOf(ctx, running)
	return err
}

// memoryOf is what a program holds after it has rested.
func (r *results) memoryOf(ctx context.Context, running *running) (memory, error) {
	select {
	case <-time.After(r.options.rest):
	case <-ctx.Done():
		return memory{}, ctx.Err()
	}
	return memoryOf(running.command.Process.Pid)
}
