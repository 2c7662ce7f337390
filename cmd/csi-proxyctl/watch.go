// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/printable"
	"github.com/kubernetes-csi/csi-proxy/internal/treeview"
)

// waitPause is the time between two observations.
const waitPause = 200 * time.Millisecond

// States of an object.
const (
	statePresent = "present"
	stateGone    = "gone"
)

// An observation holds the states that an object has, and what to print once one of them is the wanted one.
type observation struct {
	states []string
	found  answer
}

// gone is the observation of an object that is not there, with the name of its field.
func gone(field string) observation {
	return observation{[]string{stateGone},
		answer{value: map[string]any{field: nil}, rows: []string{}, names: []string{}}}
}

// An observer queries the state once. Errors that may pass, as while the agent starts, do not end the wait.
type observer func(ctx context.Context, args []string) (observation, error)

func waitCommand(a *connection) *cobra.Command {
	c := group("wait", "Wait until the agent, a disk, a volume or a mapping is as it should be",
		a.wait(a.command("ready", "Wait until the agent serves its API; prints how many endpoints it has"),
			[]string{"ready"}, a.readyObserver()),
		a.wait(a.command("disk", "Wait for a disk; prints its number", "DISK"),
			[]string{statePresent, "online", "offline", stateGone}, a.diskObserver()),
		a.wait(a.command("volume", "Wait for a volume; prints its id", "VOLUME"),
			[]string{statePresent, "formatted", "mounted", stateGone}, a.observeVolume),
		a.wait(a.command("mapping", "Wait for the mapping of a share; prints its status", "SHARE"),
			[]string{"ok", statePresent, stateGone}, a.observeMapping),
	)
	c.Long = c.Short + `.

It waits for an agent that is not there yet, too. After --timeout it ends with exit code 7 and names the state that it
saw last.`
	c.Example = "  csi-proxyctl wait disk vol0123456789abcdef1 --for online --timeout 1m"
	return c
}

// wait makes a command observe until a state holds, by default the first.
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

// waitFor observes until a state holds or the time is over.
func (a *connection) waitFor(c *cobra.Command, want string, args []string, observe observer) (found answer, err error) {
	ctx, cancel := a.limited(c.Context())
	defer cancel()
	// The first observation may take longer than all the time, so that the error can name a state.
	first, stop := context.WithTimeout(c.Context(), max(a.timeout, answerTime))
	defer stop()
	timeout := a.timeout
	a.timeout = 0 // of single calls: these contexts have limits
	defer showProgress(c)()
	last, current := "", first
	err = poll(ctx, waitPause, func() (bool, error) {
		seen, err := observe(current, args)
		current = ctx
		switch {
		case err == nil && slices.Contains(seen.states, want):
			found = seen.found
			return true, nil
		case err == nil:
			last = "it is " + strings.Join(seen.states, ", ")
		case ctx.Err() == nil && !passes(err):
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

// passes reports whether an error may pass by itself.
func passes(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Aborted, codes.ResourceExhausted, codes.Internal:
		return true
	}
	return exitCode(failure{err}) == exitUnavailable
}

// readyObserver returns an observer of the agent. Without an admin endpoint, which is served last, the agent is ready
// once two observations find the same number of endpoints.
func (a *connection) readyObserver() observer {
	before := 0
	return func(ctx context.Context, _ []string) (observation, error) {
		list, tried, err := a.servedAPIs(ctx)
		ready := len(list) > 0 && (!tried || len(list) == before)
		before = len(list)
		if err != nil || !ready {
			return observation{states: []string{"not served"}}, err
		}
		return observation{[]string{"ready"},
			answer{value: map[string]int{"endpoints": len(list)}, rows: []string{strconv.Itoa(len(list))}}}, nil
	}
}

// diskObserver returns an observer of a disk. The agent's lists leave out a disk that does not answer. So a disk whose
// serial number was found before is asked for by its number, unless another disk has that number now.
func (a *connection) diskObserver() observer {
	var known *uint32
	return func(ctx context.Context, args []string) (observation, error) {
		number, err := diskOf(args), error(nil)
		if !isNumber(args[0]) {
			r, listErr := invoke(ctx, a, csiproxy.DiskClient.ListDiskIDs, &csiproxy.ListDiskIDsRequest{})
			if listErr != nil {
				return observation{}, listErr
			}
			number, err = diskIn(r.GetDiskIDs(), args[0])
			switch {
			case err == nil:
				known = &number
			case status.Code(err) == codes.NotFound && known != nil && r.GetDiskIDs()[*known].GetSerialNumber() == "":
				number, err = *known, nil
			}
		}
		var state *csiproxy.GetDiskStateResponse
		if err == nil {
			state, err = invoke(ctx, a, csiproxy.DiskClient.GetDiskState, &csiproxy.GetDiskStateRequest{DiskNumber: number})
		}
		if status.Code(err) == codes.NotFound {
			return gone("diskNumber"), nil
		}
		return observation{[]string{statePresent, onlineText(state.GetIsOnline())},
			answer{value: map[string]uint32{"diskNumber": number}, rows: []string{fmt.Sprint(number)}}}, err
	}
}

func (a *connection) observeVolume(ctx context.Context, args []string) (seen observation, err error) {
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
	seen = observation{[]string{statePresent}, answer{value: map[string]string{"volumeId": id}, rows: []string{id}}}
	if err != nil || !r.GetFormatted() {
		return seen, err
	}
	seen.states = append(seen.states, "formatted")
	tree, _, err := a.tree(ctx)
	if err != nil {
		return seen, err
	}
	for _, v := range volumesOf(tree) {
		if strings.EqualFold(shortID(v.ID), shortID(id)) && len(v.MountPoints) > 0 {
			seen.states = append(seen.states, "mounted")
		}
	}
	return seen, nil
}

func (a *connection) observeMapping(ctx context.Context, args []string) (observation, error) {
	mapped, err := a.mappings(ctx)
	for _, m := range mapped {
		if strings.EqualFold(m.GetRemotePath(), args[0]) {
			return observation{[]string{statePresent, strings.ToLower(m.GetStatus())},
				answer{value: mappingRow{m.GetRemotePath(), m.GetStatus()}, rows: []string{m.GetStatus()}}}, nil
		}
	}
	return gone("share"), err
}

// event is a change of the node between two looks. The first look finds everything added.
type event struct {
	Time   time.Time `json:"time"`
	Type   string    `json:"type"`   // added, changed or removed
	Object string    `json:"object"` // disk/1, volume/Volume{…}, mapping/\\server\share
	State  string    `json:"state"`
}

// states are a node's objects with their states, each in a few words.
type states map[string]string

func eventsCommand(a *connection) *cobra.Command {
	c := a.command("events", "List the node's disks, volumes, mappings and sessions, and then what changes")
	c.Long = `List the node's disks, volumes, mappings, iSCSI sessions, and mount points and links that lead nowhere, one a
line; with --follow, go on with what is added, changed or removed, whoever did it.

It looks at intervals, as Windows and the agent keep no such list: what comes and goes between two looks is not seen,
and each look asks every disk and volume.`
	follow := c.Flags().BoolP("follow", "f", false,
		"go on printing until interrupted, or for as long as --timeout says")
	interval := c.Flags().Duration("interval", 10*time.Second, "`time` between two looks")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *interval <= 0 {
			return errors.New("--interval must be positive")
		}
		a.untilInterrupted(c, *follow)
		ctx, cancel := a.limited(c.Context())
		defer cancel()
		before := states{}
		err := poll(ctx, *interval, func() (done bool, err error) {
			now, err := a.states(ctx)
			if err != nil && (!*follow || ctx.Err() != nil || exitCode(err) == exitUsage) {
				return true, err
			}
			if err != nil {
				now = states{"agent": "does not answer"}
			}
			for _, e := range changesBetween(before, now, time.Now()) {
				if err := a.printOne(c, e.line(), printable.Text(e.Object), e); err != nil {
					return true, err
				}
			}
			before = now
			return !*follow, nil
		})
		if *follow && ctx.Err() != nil {
			return nil // it ends, as it is meant to
		}
		return err
	}
	return c
}

// states looks at the node once.
func (a *connection) states(ctx context.Context) (states, error) {
	all := states{"agent": "answers"}
	tree, why, err := a.tree(ctx)
	switch {
	case err != nil && why != nil:
		return nil, why // nobody there at all, or nobody who may be asked
	case err != nil:
		return nil, failure{explain(err)}
	}
	for _, d := range tree.Disks {
		all[fmt.Sprintf("disk/%d", d.Number)] = d.String()
	}
	for d, v := range volumesOf(tree) {
		all["volume/"+shortID(v.ID)] = volumeInWords(d, v)
	}
	r, err := invoke(ctx, a, admin.AdminClient.Inspect, &admin.InspectRequest{})
	for _, m := range r.GetSmbMappings() {
		all["mapping/"+m.GetRemotePath()] = m.GetStatus()
	}
	for _, s := range r.GetIscsiSessions() {
		all["session/"+s.GetTarget()] = choose(s.GetConnected(), "connected", "disconnected")
	}
	for _, d := range r.GetDangling() {
		all["link/"+d.GetPath()] = "leads nowhere: " + d.GetTarget()
	}
	if withoutAdmin(err) {
		err = nil // an agent without it shows disks and volumes
	}
	return all, err
}

// volumeInWords leaves out how much is used, which changes all the time.
func volumeInWords(d treeview.Disk, v *treeview.Volume) string {
	parts := []string{fmt.Sprintf("disk %d", d.Number), v.Format()}
	if v.TotalBytes > 0 {
		parts = append(parts, treeview.Size(v.TotalBytes))
	}
	if len(v.MountPoints) > 0 {
		parts = append(parts, "mounted at "+strings.Join(v.MountPoints, ", "))
	}
	return strings.Join(parts, ", ")
}

// changesBetween returns the changes from one look to the next, by object. While the agent does not answer, nothing is
// known about the others.
func changesBetween(before, now states, at time.Time) (events []event) {
	names := maps.Clone(before)
	maps.Copy(names, now)
	silent := now["agent"] != "answers"
	for _, name := range slices.Sorted(maps.Keys(names)) {
		was, there := before[name]
		is, here := now[name]
		switch {
		case here && !there:
			events = append(events, event{at, "added", name, is})
		case here && was != is:
			events = append(events, event{at, "changed", name, is})
		case !here && silent:
			now[name] = was
		case !here:
			events = append(events, event{at, "removed", name, was})
		}
	}
	return events
}

func (e event) line() string {
	return fmt.Sprintf("%s %-7s %s  %s", e.Time.Format("15:04:05"), e.Type, printable.Text(e.Object),
		printable.Text(e.State))
}
