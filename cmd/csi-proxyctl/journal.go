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
	"github.com/kubernetes-csi/csi-proxy/internal/printable"
)

func journalCommand(a *connection) *cobra.Command {
	c := &cobra.Command{
		Use:   "journal",
		Short: "Print the API calls and kernel calls of an agent with an emulated node",
		Long: `Print the API calls and kernel calls of an agent with an emulated node, in the order in which they ended:
kernel calls come before the API call that they were made for, and have its request id. Calls that are still running
come last.

A call must meet all conditions. A method is GROUP, GROUP/METHOD, GROUP/VERSION or GROUP/VERSION/METHOD.`,
		Example: `  csi-proxyctl journal --method volume/MountVolume
  csi-proxyctl journal --failed --since 5m
  csi-proxyctl journal --follow -o json`,
	}
	r := &admin.ListJournalRequest{}
	flags := c.Flags()
	flags.Uint64Var(&r.After, "after", 0, "only entries after this `number`")
	flags.StringVar(&r.Method, "method", "", "only API calls of these `methods`, and kernel calls made for them")
	flags.StringVar(&r.Function, "function", "", "only calls of the kernel function of this `name`")
	flags.StringVar(&r.Object, "object", "", "only calls that name this `text`: a path, a volume, a serial number")
	flags.StringVar(&r.RequestId, "request-id", "", "only the API call with this `id`, and kernel calls made for it")
	flags.BoolVar(&r.Failed, "failed", false, "only calls that failed")
	since := flags.String("since", "", "only calls that began at this `time` or later: 30s ago, or 2026-01-31T12:00:00Z")
	flags.BoolVarP(&r.Wait, "follow", "f", false, "go on printing until interrupted")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if *since != "" {
			at, err := parseTime(*since)
			if err != nil {
				return err
			}
			r.Since = timestamppb.New(at)
		}
		warnOfCalls(c, r.GetFunction(), r.GetMethod())
		if r.GetWait() {
			a.timeout = 0 // until interrupted
		}
		return a.call(c.Context(), func(ctx context.Context, client *adminclient.Client) error {
			if err := a.printJournal(ctx, c, client, r); !r.GetWait() || ctx.Err() == nil {
				return err
			}
			return nil // interrupted, as it is meant to be
		})
	}
	completeCalls(c)
	c.AddCommand(assertCommand(a))
	return c
}

// printEntry prints an entry: as a line, as a line of JSON, or as a YAML document.
func (a *connection) printEntry(c *cobra.Command, e *admin.JournalEntry) error {
	if a.output.forPeople() {
		_, err := fmt.Fprintln(c.OutOrStdout(), printable.Text(journal.Line(e)))
		return err
	}
	if a.output.form == outputName { // what --after takes
		_, err := fmt.Fprintln(c.OutOrStdout(), e.GetSequence())
		return err
	}
	text, err := a.encode(message{e}, "")
	if err != nil {
		return err
	}
	if a.output.form == outputYAML {
		text = append([]byte("---\n"), text...)
	}
	_, err = c.OutOrStdout().Write(text)
	return err
}

func (a *connection) printJournal(ctx context.Context, c *cobra.Command, client *adminclient.Client,
	r *admin.ListJournalRequest) error {
	everything := proto.Equal(r, &admin.ListJournalRequest{After: r.GetAfter(), Wait: r.GetWait()})
	printAll := func(entries []*admin.JournalEntry) error {
		for _, e := range entries {
			if err := a.printEntry(c, e); err != nil {
				return err
			}
		}
		return nil
	}
	for {
		page, err := client.ListJournal(ctx, r)
		if err != nil {
			return err
		}
		if first := r.GetAfter() + 1; everything && first > 1 && len(page.GetEntries()) > 0 &&
			page.GetEntries()[0].GetSequence() > first {
			_, _ = fmt.Fprintf(c.ErrOrStderr(), "(#%d to #%d are no longer there)\n", first,
				page.GetEntries()[0].GetSequence()-1)
		}
		if err := printAll(page.GetEntries()); err != nil {
			return err
		}
		r.After = page.GetSearched()
		if r.GetWait() || r.GetAfter() < page.GetNewest() {
			continue
		}
		return printAll(page.GetRunning())
	}
}
