// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/journal"
)

func journalCommand(a *connection) *cobra.Command {
	c := &cobra.Command{
		Use:   "journal",
		Short: "Print the API calls and kernel calls of an agent with an emulated node",
		Long: `Print the API calls and kernel calls of an agent with an emulated node, in the order in which they ended: kernel calls
come before the API call that they were made for and have its request id. Calls that still run come last.`,
		Args: cobra.NoArgs,
	}
	after := c.Flags().Uint64("after", 0, "only entries after this `number`")
	follow := c.Flags().BoolP("follow", "f", false, "go on printing until interrupted")
	c.RunE = func(c *cobra.Command, _ []string) error {
		return a.call(c.Context(), func(ctx context.Context, client *adminclient.Client) error {
			if err := printJournal(ctx, c, client, *after, *follow); !*follow || ctx.Err() == nil {
				return err
			}
			return nil // interrupted, as it is meant to be
		})
	}
	return c
}

func printJournal(ctx context.Context, c *cobra.Command, client *adminclient.Client, after uint64, follow bool) error {
	for {
		r, err := client.ListJournal(ctx, &admin.ListJournalRequest{After: after, Wait: follow})
		if err != nil {
			return err
		}
		for _, e := range r.GetEntries() {
			if first := after + 1; after > 0 && e.GetSequence() > first {
				if err := printLine(c, fmt.Sprintf("(#%d to #%d are no longer there)", first, e.GetSequence()-1)); err != nil {
					return err
				}
			}
			after = e.GetSequence()
			if err := printLine(c, journal.Line(e)); err != nil {
				return err
			}
		}
		if follow || after < r.GetNewest() {
			continue
		}
		for _, e := range r.GetRunning() {
			if err := printLine(c, journal.Line(e)); err != nil {
				return err
			}
		}
		return nil
	}
}
