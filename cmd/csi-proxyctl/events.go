// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/printable"
	"github.com/kubernetes-csi/csi-proxy/internal/treeview"
)

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
		all["session/"+s.GetTarget()] = map[bool]string{true: "connected", false: "disconnected"}[s.GetConnected()]
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
