// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/journal"
)

func journalCommand(a *connection) *cobra.Command {
	c := a.command("journal", "Print the API calls and kernel calls of an agent with an emulated node")
	c.Long = c.Short + `, in the order in which they ended:
kernel calls come before the API call that they were made for, and have its request id. Calls that are still running
come last.

A call must meet all conditions. A method is GROUP, GROUP/METHOD, GROUP/VERSION or GROUP/VERSION/METHOD.`
	c.Example = `  csi-proxyctl journal --method volume/MountVolume
  csi-proxyctl journal --failed --since 5m
  csi-proxyctl journal --api --tail 20 --follow`
	r, flags := &nodeapi.ListJournalRequest{}, c.Flags()
	flags.Uint64Var(&r.After, "after", 0, "only entries after this `number`")
	flags.StringVar(&r.Method, "method", "", "only API calls of these `methods`, and kernel calls made for them")
	flags.StringVar(&r.Function, "function", "", "only calls of the kernel function of this `name`")
	flags.StringVar(&r.Object, "object", "", "only calls that name this `text`: a path, a volume, a serial number")
	flags.StringVar(&r.RequestId, "request-id", "", "only the API call with this `id`, and kernel calls made for it")
	flags.BoolVar(&r.Failed, "failed", false, "only calls that failed")
	api := flags.Bool("api", false, "only API calls")
	since := flags.String("since", "", "only calls that began at this `time` or later: 30s ago, or 2026-01-31T12:00:00Z")
	tail := flags.Int("tail", 0, "only the last `number` of the entries that exist (default: all)")
	follow := flags.BoolP("follow", "f", false, "continue until interrupted, or for as long as --timeout says")
	c.RunE = func(c *cobra.Command, _ []string) error {
		switch {
		case !flags.Changed("tail"):
			*tail = -1
		case *tail < 0:
			return errors.New("--tail must not be negative")
		}
		if *since != "" {
			at, err := parseTime(*since)
			if err != nil {
				return err
			}
			r.Since = timestamppb.New(at)
		}
		return a.following(c, *follow, func(ctx context.Context) error {
			return a.printJournal(ctx, c, r, *api, *follow, *tail)
		})
	}
	completeCalls(c)
	return c
}

// printJournal prints the entries that a request selects, page by page, or of those that exist only the last ones
// unless tail is negative. Without follow, the running calls come last.
func (a *connection) printJournal(ctx context.Context, c *cobra.Command, r *nodeapi.ListJournalRequest, api,
	follow bool, tail int) error {
	unfiltered := proto.Equal(r, &nodeapi.ListJournalRequest{After: r.GetAfter()})
	var kept []*nodeapi.JournalEntry
	for {
		page, err := invoke(ctx, a, nodeClient.ListJournal, r)
		if err != nil {
			return err
		}
		first, entries := r.GetAfter()+1, page.GetEntries()
		if unfiltered && first > 1 && len(entries) > 0 && entries[0].GetSequence() > first {
			_, _ = fmt.Fprintf(c.ErrOrStderr(), "(#%d to #%d are no longer there)\n", first, entries[0].GetSequence()-1)
		}
		r.After = page.GetSearched()
		r.Wait = r.GetAfter() >= page.GetNewest() // this is the last page now
		if r.GetWait() && !follow {
			entries = append(entries, page.GetRunning()...)
		}
		for _, e := range entries {
			if !api || e.GetApi() != nil {
				kept = append(kept, e)
			}
		}
		if tail >= 0 {
			kept = kept[max(0, len(kept)-tail):]
			if !r.GetWait() {
				continue
			}
			tail = -1 // for later entries
		}
		for _, e := range kept {
			if err := a.printOne(c, journal.Line(e), fmt.Sprint(e.GetSequence()), message{e}); err != nil {
				return err
			}
		}
		if kept = nil; r.GetWait() && !follow {
			return nil
		}
	}
}
