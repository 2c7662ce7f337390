// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/adminclient"
)

// waitPause is the time between two observations.
const waitPause = 200 * time.Millisecond

// States of an object.
const (
	statePresent = "present"
	stateGone    = "gone"
)

// An observation holds the states of an object, and the answer of a wait that ends with it.
type observation struct {
	states []string
	found  answer
}

// seen returns the observation of an object. The field is the object's in JSON.
func seen(field string, value any, states ...string) observation {
	return observation{states, answer{value: map[string]any{field: value}, rows: []string{fmt.Sprint(value)}}}
}

// gone returns the observation of a missing object.
func gone(field string) observation {
	return observation{[]string{stateGone},
		answer{value: map[string]any{field: nil}, rows: []string{}, names: []string{}}}
}

// An observer queries the state once.
type observer func(ctx context.Context, args []string) (observation, error)

func waitCommand(a *connection) *cobra.Command {
	c := group("wait", "Wait until the agent, a disk, a volume or a mapping has a state",
		a.wait(a.command("ready", "Wait until the agent serves its API; prints how many endpoints it has"),
			[]string{"ready"}, a.readyObserver()),
		a.wait(a.command("disk", "Wait for a disk; prints its number", "DISK"),
			[]string{statePresent, "online", "offline", stateGone}, a.observeDisk),
		a.wait(a.command("volume", "Wait for a volume; prints its id", "VOLUME"),
			[]string{statePresent, "formatted", "mounted", stateGone}, a.observeVolume),
		a.wait(a.command("mapping", "Wait for the mapping of a share; prints its status", "SHARE"),
			[]string{"ok", statePresent, stateGone}, a.observeMapping),
	)
	c.Long = c.Short + `.

The agent may start later. After --timeout the command ends with exit code 7 and prints the last state.`
	c.Example = "  csi-proxyctl wait disk vol0123456789abcdef1 --for online --timeout 1m"
	return c
}

// wait makes a command wait for a state, by default the first.
func (a *connection) wait(c *cobra.Command, states []string, observe observer) *cobra.Command {
	want := states[0]
	if len(states) > 1 {
		c.Flags().StringVar(&want, "for", want, "`state` to wait for: "+strings.Join(states, ", "))
		complete(c, "for", states...)
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		if !slices.Contains(states, want) {
			return fmt.Errorf("--for %q is unknown%s", want, didYouMean(want, states))
		}
		if err := adminclient.CheckPlace(a.socketDir); err != nil {
			return err
		}
		found, err := a.waitFor(c, want, args, observe)
		if err != nil {
			return failure{err}
		}
		return a.printAnswer(c, found)
	}
	return c
}

// waitFor observes until the object has a state, or until the timeout.
func (a *connection) waitFor(c *cobra.Command, want string, args []string, observe observer) (found answer, err error) {
	ctx, cancel := a.limited(c.Context())
	defer cancel()
	// The first observation may take longer than the timeout, so that the error can name a state.
	first, stop := context.WithTimeout(c.Context(), max(a.timeout, answerTime))
	defer stop()
	timeout := a.timeout
	a.timeout = 0 // for single calls, whose contexts have deadlines
	last, current := "", first
	err = poll(ctx, waitPause, func() (bool, error) {
		now, err := observe(current, args)
		current = ctx
		switch {
		case err == nil && slices.Contains(now.states, want):
			found = now.found
			return true, nil
		case err == nil && now.states[0] == stateGone:
			last = "it is not there"
		case err == nil:
			last = "it is " + strings.Join(now.states, ", ")
		case ctx.Err() == nil && !isTransient(err):
			return true, err
		case ctx.Err() == nil || last == "":
			last = a.text(ctx, err)
		}
		return false, nil
	})
	switch {
	case err == nil || ctx.Err() == nil:
		return found, err
	case !errors.Is(ctx.Err(), context.DeadlineExceeded):
		return found, errors.New("interrupted")
	}
	waited := "the agent"
	if len(args) > 0 {
		waited = c.Name() + " " + args[0]
	}
	return found, failedWith(codes.DeadlineExceeded,
		fmt.Sprintf("%s is not %s after %v: %s", waited, want, timeout, last))
}

// isTransient reports whether an error may end without an action of the user, as while the agent starts.
func isTransient(err error) bool {
	transient := []codes.Code{codes.DeadlineExceeded, codes.Aborted, codes.ResourceExhausted, codes.Internal}
	return slices.Contains(transient, status.Code(err)) || exitCode(failure{err}) == exitUnavailable
}

// readyObserver returns an observer of the agent, which serves the admin endpoint last. Without one, the agent is ready
// after two observations with the same number of endpoints.
func (a *connection) readyObserver() observer {
	before := 0
	return func(ctx context.Context, _ []string) (observation, error) {
		list, tried, err := a.servedAPIs(ctx)
		ready := len(list) > 0 && (!tried || len(list) == before)
		before = len(list)
		if err != nil || !ready {
			return observation{states: []string{"not served"}}, err
		}
		return seen("endpoints", len(list), "ready"), nil
	}
}

// observeDisk finds a disk by its number or serial number. One that hangs has no serial number, and is not gone.
func (a *connection) observeDisk(ctx context.Context, args []string) (observation, error) {
	a.gaps = nil
	text, err := a.diskNumber(ctx, args[0])
	number := diskOf([]string{text})
	var state *csiproxy.GetDiskStateResponse
	if err == nil {
		state, err = invoke(ctx, a, csiproxy.DiskClient.GetDiskState, &csiproxy.GetDiskStateRequest{DiskNumber: number})
	}
	if status.Code(err) == codes.NotFound {
		return gone("diskNumber"), nil
	}
	return seen("diskNumber", number, statePresent, onlineText(state.GetIsOnline())), err
}

func (a *connection) observeVolume(ctx context.Context, args []string) (now observation, err error) {
	id := args[0]
	if isPath(id) {
		id, err = a.volumeAt(ctx, id)
	}
	var r *csiproxy.IsVolumeFormattedResponse
	if err == nil {
		r, err = invoke(ctx, a, csiproxy.VolumeClient.IsVolumeFormatted, &csiproxy.IsVolumeFormattedRequest{VolumeId: id})
	}
	if status.Code(err) == codes.NotFound {
		return gone("volumeId"), nil
	}
	now = seen("volumeId", id, statePresent)
	if err != nil || !r.GetFormatted() {
		return now, err
	}
	now.states = append(now.states, "formatted")
	tree, err := a.tree(ctx)
	if err != nil {
		return now, err
	}
	for _, p := range tree.Volumes() {
		if strings.EqualFold(shortID(p.Volume.ID), shortID(id)) && len(p.Volume.MountPoints) > 0 {
			now.states = append(now.states, "mounted")
		}
	}
	return now, nil
}

func (a *connection) observeMapping(ctx context.Context, args []string) (observation, error) {
	mapped, err := a.mappings(ctx)
	for _, m := range mapped {
		if strings.EqualFold(m.GetRemotePath(), args[0]) {
			return observation{[]string{statePresent, strings.ToLower(m.GetStatus())},
				answer{value: mappingValue(m), rows: []string{m.GetStatus()}}}, nil
		}
	}
	return gone("share"), err
}
