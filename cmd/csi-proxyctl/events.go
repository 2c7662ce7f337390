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
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
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
	c := &cobra.Command{
		Use:   "events",
		Short: "List the node's disks, volumes, mappings and sessions, and then what changes",
		Long: `List the node's disks, volumes, mappings, iSCSI sessions, and mount points and links that lead nowhere, one a
line; with --follow, go on with what is added, changed or removed, whoever did it, until interrupted.

It looks at intervals, as Windows and the agent keep no such list: what comes and goes between two looks is not seen,
and each look asks every disk and volume.`,
		Example: "  csi-proxyctl events --follow\n  csi-proxyctl events -f --interval 2s -o json",
	}
	follow := c.Flags().BoolP("follow", "f", false, "go on printing until interrupted")
	interval := c.Flags().Duration("interval", 10*time.Second, "`time` between two looks")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *interval <= 0 {
			return errors.New("--interval must be positive")
		}
		before := states{}
		for {
			now, err := a.states(c.Context())
			if *follow && c.Context().Err() != nil {
				return nil //nolint:nilerr // interrupted, as it is meant to be
			}
			switch {
			case err != nil && !*follow:
				return err
			case err != nil && exitCode(err) == exitUsage:
				return err
			case err != nil:
				now = states{"agent": "does not answer"}
			}
			for _, e := range changesBetween(before, now, time.Now()) {
				if err := a.printEvent(c, e); err != nil {
					return err
				}
			}
			if !*follow {
				return nil
			}
			before = now
			select {
			case <-time.After(*interval):
			case <-c.Context().Done():
				return nil
			}
		}
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
		all[fmt.Sprintf("disk/%d", d.Number)] = diskInWords(d)
		for _, p := range d.Partitions {
			if v := p.Volume; v != nil {
				all["volume/"+shortID(v.ID)] = volumeInWords(d, v)
			}
		}
	}
	err = a.call(ctx, func(ctx context.Context, client *adminclient.Client) error {
		r, err := client.Inspect(ctx, &admin.InspectRequest{})
		for _, m := range r.GetSmbMappings() {
			all["mapping/"+m.GetRemotePath()] = m.GetStatus()
		}
		for _, s := range r.GetIscsiSessions() {
			all["session/"+s.GetTarget()] = map[bool]string{true: "connected", false: "disconnected"}[s.GetConnected()]
		}
		for _, d := range r.GetDangling() {
			all["link/"+d.GetPath()] = "leads nowhere: " + d.GetTarget()
		}
		return err
	})
	if withoutAdmin(err) {
		err = nil // an agent without it shows disks and volumes
	}
	return all, err
}

func diskInWords(d treeview.Disk) string {
	parts := []string{treeview.Size(d.SizeBytes)}
	if d.Online != nil {
		parts = append(parts, onlineText(*d.Online))
	}
	if d.ReadOnly != nil && *d.ReadOnly {
		parts = append(parts, "read-only")
	}
	if d.Style != "" {
		parts = append(parts, d.Style)
	}
	if d.SerialNumber != "" {
		parts = append(parts, "serial "+d.SerialNumber)
	}
	return strings.Join(parts, ", ")
}

// volumeInWords leaves out how much is used, which changes all the time.
func volumeInWords(d treeview.Disk, v *treeview.Volume) string {
	parts := []string{fmt.Sprintf("disk %d", d.Number)}
	switch {
	case !v.Formatted:
		parts = append(parts, "no file system")
	case v.FileSystem == "":
		parts = append(parts, "formatted")
	default:
		parts = append(parts, v.FileSystem)
	}
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

// printEvent prints an event: as a line, as a line of JSON, or as a YAML document.
func (a *connection) printEvent(c *cobra.Command, e event) error {
	var text []byte
	var err error
	switch a.output.form {
	case outputTable, outputWide:
		paints := map[string]colour{"added": green, "changed": yellow, "removed": red}
		_, err = fmt.Fprintf(c.OutOrStdout(), "%s %s %s  %s\n", e.Time.Format("15:04:05"),
			paint(c.OutOrStdout(), paints[e.Type], fmt.Sprintf("%-7s", e.Type)), printable.Text(e.Object),
			printable.Text(e.State))
		return err
	case outputName:
		_, err = fmt.Fprintln(c.OutOrStdout(), printable.Text(e.Object))
		return err
	case outputYAML:
		text = []byte("---\n")
	}
	encoded, err := a.encode(e, "")
	if err != nil {
		return failure{err}
	}
	_, err = c.OutOrStdout().Write(append(text, encoded...))
	return err
}
