// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// A startRow is the result for a program's starts.
type startRow struct {
	Name string
	Took figure // milliseconds until it was ready; empty: it does not report that
	Idle figure // MiB, after a rest
}

// measureStarts starts programs in turns, the empty one first, and looks at the memory of each after a rest.
func measureStarts(ctx context.Context, o options, programs []program) ([]startRow, error) {
	rows := make([]startRow, len(programs))
	err := repeat(o.Rounds/2, func(round int) error {
		for i := range programs {
			i = (i + round) % len(programs)
			row, p := &rows[i], programs[i]
			row.Name = p.name
			err := with(ctx, p, func(pid int, took float64) error {
				if !p.silent {
					row.Took = append(row.Took, took)
				}
				if err := pause(ctx, o.Rest); err != nil {
					return err
				}
				now, _, err := memoryOf(pid)
				row.Idle = append(row.Idle, now)
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	}, func() (compared []figure) {
		for _, row := range rows[1:] {
			compared = append(compared, row.Idle.minus(rows[0].Idle))
			if len(row.Took) > 0 {
				compared = append(compared, row.Took.over(rows[0].Took))
			}
		}
		return compared
	})
	return rows, err
}

// A loadRow is a program's memory after many calls, in MiB.
type loadRow struct {
	Name  string
	Peak  figure
	After []figure // at each of the moments
}

// Moments returns the times after the calls at which memory is looked at.
func (o options) Moments() []time.Duration {
	return []time.Duration{0, o.Minute / 6, o.Minute / 2, o.Minute}
}

// loads is how often a load is measured: each takes more than a minute.
const loads = 3

// measureLoad starts a new agent each time, calls it and looks at its memory.
func measureLoad(ctx context.Context, o options, p program) (loadRow, error) {
	row := loadRow{Name: p.name, After: make([]figure, len(o.Moments()))}
	for range loads {
		err := with(ctx, p, func(pid int, _ float64) error {
			callOften(ctx, o.Calls, p)
			end := time.Now()
			var peak float64
			for i, moment := range o.Moments() {
				if err := pause(ctx, moment-time.Since(end)); err != nil {
					return err
				}
				var now float64
				var err error
				if now, peak, err = memoryOf(pid); err != nil {
					return err
				}
				row.After[i] = append(row.After[i], now)
			}
			row.Peak = append(row.Peak, peak)
			return nil
		})
		if err != nil {
			return row, err
		}
	}
	return row, nil
}

// callOften makes the calls of a load, each caller over its own connections. Failing calls are work for an agent too.
func callOften(ctx context.Context, calls int64, p program) {
	var (
		wait  sync.WaitGroup
		made  atomic.Int64
		kinds = reads(p.at)
	)
	nodes := make([]node, callers)
	for i := range nodes {
		nodes[i] = connect(ctx, p)
	}
	defer func() {
		for _, n := range nodes {
			n.close()
		}
	}()
	for _, n := range nodes {
		wait.Go(func() {
			for i := made.Add(1); i <= calls && ctx.Err() == nil; i = made.Add(1) {
				_ = kinds[int(i)%len(kinds)].on(n)(ctx)
			}
		})
	}
	wait.Wait()
}
