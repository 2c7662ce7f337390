// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"
)

// A shape is how many callers call at the same time, and over what.
type shape struct {
	callers int
	own     bool // each has a connection of its own; otherwise they share one
}

// shapes are one caller first, then each number of callers over one connection and over their own.
func (o options) shapes() []shape {
	shapes := []shape{{callers: 1}}
	for _, n := range o.callers {
		shapes = append(shapes, shape{n, false}, shape{n, true})
	}
	return shapes
}

func (s shape) String() string {
	switch {
	case s.callers == 1:
		return "1 caller"
	case s.own:
		return count(s.callers) + " callers, own connections"
	default:
		return count(s.callers) + " callers, one connection"
	}
}

// enough is the time after which no further round begins: some calls are slow, and 64 of them at once slower.
const enough = 5 * time.Second

// inTurns calls each subject for a slice of time, then the next one, round after round, and returns a series for each.
// Every round begins with another subject, so that not always the same one comes first.
func inTurns(ctx context.Context, subjects []subject, s shape, o options) ([]series, error) {
	conns := make([]connections, len(subjects))
	defer func() {
		for _, c := range conns {
			c.close()
		}
	}()
	for i, subject := range subjects {
		n := 1
		if s.own {
			n = s.callers
		}
		var err error
		if conns[i], err = connect(subject.socket, n); err != nil {
			return nil, err
		}
		if err := conns[i].ready(ctx); err != nil {
			return nil, err
		}
		if err := subject.call(ctx, conns[i][0]); err != nil { // warms up, and tells early what cannot be measured
			return nil, err
		}
	}
	all := make([]series, len(subjects))
	begin := time.Now()
	for round := range o.rounds {
		if round > 0 && time.Since(begin) > enough {
			break
		}
		for i := range subjects {
			i = (i + round) % len(subjects)
			t, err := turn(ctx, subjects[i], conns[i], s.callers, o.slice)
			if err != nil {
				return nil, err
			}
			all[i].add(t)
		}
	}
	return all, nil
}

// taken is what one turn of one subject gave.
type taken struct {
	latencies []time.Duration
	in        time.Duration // from the first call's begin to the last one's end
}

// turn has all callers call one subject, one call after the other, until the slice is over; everyone calls at least
// once.
func turn(ctx context.Context, s subject, conns connections, callers int, slice time.Duration) (taken, error) {
	var (
		wait sync.WaitGroup
		each = make([][]time.Duration, callers)
		errs = make([]error, callers)
	)
	begin := time.Now()
	until := begin.Add(slice)
	for c := range callers {
		wait.Go(func() { each[c], errs[c] = repeat(ctx, s, conns[c%len(conns)], until) })
	}
	wait.Wait()
	t := taken{in: time.Since(begin)}
	for c := range callers {
		if errs[c] != nil {
			return t, errs[c]
		}
		t.latencies = append(t.latencies, each[c]...)
	}
	return t, nil
}

func repeat(ctx context.Context, s subject, conn *grpc.ClientConn, until time.Time) ([]time.Duration, error) {
	latencies := make([]time.Duration, 0, 256)
	for begin := time.Now(); ; {
		if err := s.call(ctx, conn); err != nil {
			return nil, err
		}
		end := time.Now()
		latencies = append(latencies, end.Sub(begin))
		if end.After(until) {
			return latencies, nil
		}
		begin = end
	}
}
