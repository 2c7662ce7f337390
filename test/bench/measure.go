// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc"

	filesystem "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v1"
	"github.com/kubernetes-csi/csi-proxy/client/dial"
)

// measured is the endpoint whose PathExists is called. Every release has it.
const measured = "filesystem-v1"

// plugins is a directory in which the agent works.
const plugins = `C:\var\lib\kubelet\plugins`

// callers is how many callers call at once, apart from the runs with one.
const callers = 64

// A figure is one agent's result of one round, with those of the echo beside it.
type figure struct {
	start, idle, loaded, later                 float64 // ms, MiB
	echoStart, echoIdle, echoLoaded            float64
	oneCaller, sharedConnection, ownConnection float64 // ÷ echo: its time, and its rates
}

type figures []figure

// measure starts an agent and the echo, and calls them in turns.
func measure(ctx context.Context, o options, agent, echo program) (f figure, err error) {
	err = echo.with(ctx, func(echoPID int, took time.Duration) error {
		f.echoStart = milliseconds(took)
		return agent.with(ctx, func(pid int, took time.Duration) (err error) {
			f.start = milliseconds(took)
			if err := pause(ctx, o.rest); err != nil {
				return err
			}
			memory := func(pid int) (mib float64) {
				if err == nil {
					mib, err = memoryOf(pid)
				}
				return mib
			}
			f.idle, f.echoIdle = memory(pid), memory(echoPID)
			ratio := func(callers, connections int) (times float64) {
				if err == nil {
					times, err = beside(ctx, o, agent.address(measured), echo.endpoints[0], callers, connections)
				}
				return times
			}
			f.oneCaller = ratio(1, 1)
			f.sharedConnection, f.ownConnection = 1/ratio(callers, 1), 1/ratio(callers, callers)
			f.loaded, f.echoLoaded = memory(pid), memory(echoPID)
			if err == nil {
				err = pause(ctx, o.later)
			}
			f.later = memory(pid)
			return err
		})
	})
	return f, err
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1e3 }

// beside calls PathExists and the echo in turns, so that whatever else the machine does affects both, and returns how
// many times the echo's time a call takes.
func beside(ctx context.Context, o options, agent, echo string, callers, connections int) (float64, error) {
	request, response := &filesystem.PathExistsRequest{Path: plugins}, &filesystem.PathExistsResponse{Exists: true}
	var calls [2][]call
	var opened []*grpc.ClientConn
	defer func() {
		for _, conn := range opened {
			_ = conn.Close()
		}
	}()
	for range connections {
		for i, address := range []string{agent, echo} {
			conn, err := dial.Open(ctx, address, dial.Options{})
			if err != nil {
				return 0, err
			}
			opened = append(opened, conn)
			one := callOf(conn, "/v1.Filesystem/PathExists", request, response)
			if i == 1 {
				one = echoOf(conn, request, response)
			}
			calls[i] = append(calls[i], one)
		}
	}
	var took [2]time.Duration // of all calls
	var made [2]int
	for turn := range 2 * o.turns {
		i := (turn + turn/2) % 2 // not always in the same order
		n, d, err := callFor(ctx, o.slice, calls[i], callers)
		if err != nil {
			return 0, err
		}
		made[i], took[i] = made[i]+n, took[i]+d
	}
	return took[0].Seconds() / float64(made[0]) / (took[1].Seconds() / float64(made[1])), nil
}

// callFor has every caller call for a time, once at least, and returns how many calls were made in which time.
func callFor(ctx context.Context, slice time.Duration, calls []call, callers int) (int, time.Duration, error) {
	var wait sync.WaitGroup
	made, errs := make([]int, callers), make([]error, callers)
	begin := time.Now()
	for i := range callers {
		wait.Go(func() {
			for errs[i] == nil && (made[i] == 0 || time.Since(begin) < slice) {
				errs[i] = calls[i%len(calls)](ctx)
				made[i]++
			}
		})
	}
	wait.Wait()
	took, all := time.Since(begin), 0
	for _, n := range made {
		all += n
	}
	return all, took, errors.Join(errs...)
}
