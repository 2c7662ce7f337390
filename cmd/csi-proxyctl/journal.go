// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/journal"
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
	p := &journalPrinter{a: a, r: &admin.ListJournalRequest{}}
	r, flags := p.r, c.Flags()
	flags.Uint64Var(&r.After, "after", 0, "only entries after this `number`")
	flags.StringVar(&r.Method, "method", "", "only API calls of these `methods`, and kernel calls made for them")
	flags.StringVar(&r.Function, "function", "", "only calls of the kernel function of this `name`")
	flags.StringVar(&r.Object, "object", "", "only calls that name this `text`: a path, a volume, a serial number")
	flags.StringVar(&r.RequestId, "request-id", "", "only the API call with this `id`, and kernel calls made for it")
	flags.BoolVar(&r.Failed, "failed", false, "only calls that failed")
	flags.BoolVar(&p.api, "api", false, "only API calls")
	since := flags.String("since", "", "only calls that began at this `time` or later: 30s ago, or 2026-01-31T12:00:00Z")
	flags.IntVar(&p.tail, "tail", -1, "only the last `number` of what there is (default: all)")
	follow := flags.BoolP("follow", "f", false, "go on printing until interrupted, or for as long as --timeout says")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *since != "" {
			at, err := parseTime(*since)
			if err != nil {
				return err
			}
			r.Since = timestamppb.New(at)
		}
		if what, meant := unknownCalls(r.GetFunction(), r.GetMethod()); what != "" { // as if there had been none
			_, _ = fmt.Fprintf(c.ErrOrStderr(), "warning: %s%s\n", what, meant)
		}
		a.untilInterrupted(c, *follow)
		return a.call(c.Context(), func(ctx context.Context, client *adminclient.Client) error {
			if err := p.print(ctx, c, client, *follow); !*follow || ctx.Err() == nil {
				return err
			}
			return nil // it ends, as it is meant to
		})
	}
	completeCalls(c)
	return c
}

// journalPrinter prints a part of the journal.
type journalPrinter struct {
	a    *connection
	r    *admin.ListJournalRequest
	api  bool
	tail int // < 0: all
	kept []*admin.JournalEntry
}

func (p *journalPrinter) print(ctx context.Context, c *cobra.Command, client *adminclient.Client, follow bool) error {
	everything := proto.Equal(p.r, &admin.ListJournalRequest{After: p.r.GetAfter()})
	for {
		page, err := client.ListJournal(ctx, p.r)
		if err != nil {
			return err
		}
		if first := p.r.GetAfter() + 1; everything && first > 1 && len(page.GetEntries()) > 0 &&
			page.GetEntries()[0].GetSequence() > first {
			_, _ = fmt.Fprintf(c.ErrOrStderr(), "(#%d to #%d are no longer there)\n", first,
				page.GetEntries()[0].GetSequence()-1)
		}
		p.r.After = page.GetSearched()
		last := p.r.GetAfter() >= page.GetNewest()
		entries := page.GetEntries()
		if last && !follow {
			entries = append(entries, page.GetRunning()...)
		}
		if err := p.printAll(c, entries, p.r.GetWait() || last); err != nil {
			return err
		}
		if last && !follow {
			return nil
		}
		p.r.Wait = last && follow
	}
}

// printAll prints entries. Those of which only the last are wanted are kept until all are there.
func (p *journalPrinter) printAll(c *cobra.Command, entries []*admin.JournalEntry, all bool) error {
	for _, e := range entries {
		if !p.api || e.GetApi() != nil {
			p.kept = append(p.kept, e)
		}
	}
	if p.tail >= 0 && len(p.kept) > p.tail {
		p.kept = p.kept[len(p.kept)-p.tail:]
	}
	if p.tail >= 0 && !all {
		return nil
	}
	for _, e := range p.kept {
		if err := p.a.printOne(c, journal.Line(e), fmt.Sprint(e.GetSequence()), message{e}); err != nil {
			return err
		}
	}
	p.kept = nil
	if all {
		p.tail = -1
	}
	return nil
}
