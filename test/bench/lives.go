// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"
)

// liveTimes are the times of the lives of some volumes that live at once on one node.
type liveTimes struct {
	callers int
	node    int             // which
	whole   []time.Duration // each life's steps together
	steps   [][]time.Duration
	echoes  []time.Duration // as many echoes as a life has steps, taken in turns with the lives
}

// measureLives has volumes live on both nodes in turns, alone and several at a time, each round after as many echoes.
func (r *results) measureLives(ctx context.Context, few, many *target, echoSocket string) error {
	message := wrapperspb.Bytes(make([]byte, len(mountPath)/2))
	bare := echoOf(echoSocket, message, message)
	for _, callers := range []int{1, r.options.callers[0]} {
		times := []*liveTimes{{callers: callers, node: 0}, {callers: callers, node: 1}}
		begin := time.Now()
		for round := range r.options.lives {
			if round > 0 && time.Since(begin) > enough {
				break
			}
			for i, t := range []*target{few, many} {
				if err := times[i].round(ctx, t, bare); err != nil {
					return err
				}
			}
		}
		r.lives = append(r.lives, *times[0], *times[1])
	}
	return nil
}

// round is as many lives as there are callers, at once, and as many times the echoes of one, at once too.
func (t *liveTimes) round(ctx context.Context, node *target, bare subject) error {
	var (
		wait  sync.WaitGroup
		lives = make([]life, t.callers)
		errs  = make([]error, t.callers)
	)
	echoed := make([]time.Duration, t.callers)
	for i := range lives {
		wait.Go(func() { echoed[i], errs[i] = echoes(ctx, bare, len((&life{}).steps())) })
	}
	wait.Wait()
	for i := range lives {
		wait.Go(func() {
			if errs[i] == nil {
				errs[i] = alive(ctx, node, &lives[i], i)
			}
		})
	}
	wait.Wait()
	for i := range lives {
		if errs[i] != nil {
			return errs[i]
		}
		whole := time.Duration(0)
		for _, d := range lives[i].took {
			whole += d
		}
		t.whole, t.steps, t.echoes = append(t.whole, whole), append(t.steps, lives[i].took), append(t.echoes, echoed[i])
	}
	return nil
}

// alive lives one life with connections of its own.
func alive(ctx context.Context, t *target, l *life, name int) error {
	h, err := dialHubs(t)
	if err != nil {
		return err
	}
	defer h.close()
	if err := h.conns.ready(ctx); err != nil {
		return err
	}
	l.hubs = h
	return l.live(ctx, name)
}

// echoes takes the time of n echoes on a connection that is up.
func echoes(ctx context.Context, bare subject, n int) (time.Duration, error) {
	conns, err := connect(bare.socket, 1)
	if err != nil {
		return 0, err
	}
	defer conns.close()
	if err := bare.call(ctx, conns[0]); err != nil {
		return 0, err
	}
	begin := time.Now()
	for range n {
		if err := bare.call(ctx, conns[0]); err != nil {
			return 0, err
		}
	}
	return time.Since(begin), nil
}

// step is the median time of one step.
func (t *liveTimes) step(i int) time.Duration {
	times := make([]time.Duration, len(t.steps))
	for life := range t.steps {
		times[life] = t.steps[life][i]
	}
	return time.Duration(quantile(times, .5))
}
