// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/printable"
	"github.com/kubernetes-csi/csi-proxy/internal/transcript"
)

func assertCommand(a *connection) *cobra.Command {
	c := &cobra.Command{
		Use:   "assert FILE",
		Short: "Compare the API calls that the agent answered with those in a file",
		Long: `Compare the API calls that the agent answered with those in a file, and print the difference: lines with - are
in the file only, lines with + in the journal only. If there is one, the exit code is 1.

The file has a line for each API call, with its request and its outcome. Placeholders such as <volume 1> stand for
whatever differs from run to run. Lines that begin with # are remarks. With --update the file is written.`,
		Example: `  csi-proxyctl journal assert --update stage.want
  csi-proxyctl journal assert stage.want`,
	}
	r := &admin.ListJournalRequest{}
	flags := c.Flags()
	flags.Uint64Var(&r.After, "after", 0, "only entries after this `number`")
	flags.StringVar(&r.Method, "method", "", "only API calls of these `methods`")
	kernel := flags.Bool("kernel", false, "with the kernel calls made for each API call")
	update := flags.Bool("update", false, "write the file")
	c.RunE = func(c *cobra.Command, args []string) error {
		return a.call(c.Context(), func(ctx context.Context, client *adminclient.Client) error {
			entries, err := wholeJournal(ctx, client, r)
			if err != nil {
				return err
			}
			difference, err := transcript.Compare(args[0], transcript.Text(entries, *kernel), *update)
			if err != nil || difference == "" && a.output.forPeople() {
				return err
			}
			if difference == "" {
				return a.printAnswer(c, answer{value: map[string]string{"difference": ""}, names: []string{}})
			}
			if !a.output.forPeople() {
				err = a.printAnswer(c, answer{value: map[string]string{"difference": difference}, names: []string{args[0]}})
			} else {
				_, err = fmt.Fprint(c.OutOrStdout(), printable.Text(difference))
			}
			if err != nil {
				return err
			}
			return errFound
		})
	}
	return c
}

// wholeJournal returns all entries that a request selects, and the calls that are running. It fails if some of them are
// no longer there.
func wholeJournal(ctx context.Context, client *adminclient.Client,
	r *admin.ListJournalRequest) (entries []*admin.JournalEntry, err error) {
	after := r.GetAfter()
	for {
		page, err := client.ListJournal(ctx, r)
		if err != nil {
			return nil, err
		}
		entries = append(entries, page.GetEntries()...)
		if r.After = page.GetSearched(); r.GetAfter() < page.GetNewest() {
			continue
		}
		if r.GetMethod() == "" {
			err = transcript.Complete(entries, after)
		}
		return append(entries, page.GetRunning()...), err
	}
}
