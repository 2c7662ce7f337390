// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/dial"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
)

// A side is one agent's column of the table that sets agents side by side. Everything in it can be measured of an agent
// of an earlier release too, which reports nothing about itself: it is ready when its endpoints take connections.
type side struct {
	Name                string
	Endpoints           int    // that it serves, of those that this release has
	Start               figure // milliseconds until the last of them takes connections
	Empty               figure // milliseconds of an empty program's start and exit beside it
	Idle                figure // MiB, after a rest
	Calls               []sideCall
	Loaded, Later       figure // MiB after the calls of many callers, and a third of a minute after that
	Threads             figure // after the calls
	ThreadsLater        figure
	Handles, HandlesEnd figure
}

// sideBySide measures the same things of each agent.
func (b *bench) sideBySide(ctx context.Context, agents []program) error {
	for _, p := range agents {
		s, err := b.side(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		b.Sides = append(b.Sides, s)
	}
	return nil
}

func (b *bench) side(ctx context.Context, p program) (s side, err error) {
	s.Name = p.name
	var served []string
	if err := with(ctx, p, func(int, float64) error { served = serving(ctx, p); return nil }); err != nil {
		return s, err
	}
	if s.Endpoints = len(served); s.Endpoints == 0 {
		return s, errors.New("it serves no endpoint of this release")
	}
	p.silent, p.awaits = true, served
	err = repeat(b.Rounds/2, func(int) error {
		begin := time.Now()
		if err := exec.CommandContext(ctx, b.binary("empty")).Run(); err != nil { //nolint:gosec // the binary is ours
			return err
		}
		s.Empty = append(s.Empty, since(begin))
		return with(ctx, p, func(pid int, took float64) error {
			s.Start = append(s.Start, took)
			if err := pause(ctx, b.Rest); err != nil {
				return err
			}
			now, _, err := memoryOf(pid)
			s.Idle = append(s.Idle, now)
			return err
		})
	}, func() []figure { return []figure{s.Start.over(s.Empty), s.Idle} })
	if err != nil {
		return s, err
	}
	if s.Calls, err = b.sideCalls(ctx, p); err != nil {
		return s, err
	}
	for range loads {
		if err := with(ctx, p, func(pid int, _ float64) error { return b.sideLoad(ctx, p, &s, pid) }); err != nil {
			return s, err
		}
	}
	return s, nil
}

// serving returns the endpoints of this release that an agent serves.
func serving(ctx context.Context, p program) (names []string) {
	for _, g := range versions.Groups() {
		for _, v := range append(g.Versions(), g.Hub) {
			name := "csi-proxy-" + g.Name + "-" + v
			if conn, err := dial.Open(ctx, `\\.\pipe\`+name, dial.Options{SocketDir: p.sockets}); err == nil {
				_ = conn.Close()
				names = append(names, name)
			}
		}
	}
	return names
}

// sideLoad lets many callers, each with a connection of its own, call a new agent, and looks at it then and later.
func (b *bench) sideLoad(ctx context.Context, p program, s *side, pid int) error {
	path := pathRequest()
	conns, err := path.open(ctx, p, callers)
	if err != nil {
		return err
	}
	defer conns.close()
	if _, err := turn(ctx, conns.in(path.call), callers, time.Duration(b.Rounds)*b.Slice); err != nil {
		return err
	}
	for _, moment := range []struct {
		after                    time.Duration
		memory, threads, handles *figure
	}{
		{0, &s.Loaded, &s.Threads, &s.Handles},
		{b.Minute / 3, &s.Later, &s.ThreadsLater, &s.HandlesEnd},
	} {
		if moment.after > 0 {
			conns.close()
		}
		if err := pause(ctx, moment.after); err != nil {
			return err
		}
		now, _, err := memoryOf(pid)
		if err != nil {
			return err
		}
		threads, handles, err := countsOf(pid)
		if err != nil {
			return err
		}
		*moment.memory = append(*moment.memory, now)
		*moment.threads = append(*moment.threads, float64(threads))
		*moment.handles = append(*moment.handles, float64(handles))
	}
	return nil
}
