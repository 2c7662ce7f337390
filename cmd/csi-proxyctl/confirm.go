// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/printable"
)

// deed is an action of a command that takes something away.
type deed struct {
	what   string // "format the volume X"
	doing  string // "formatting the volume"
	effect string // the consequences, in a sentence
	// look describes what the deed would affect. It may be nil.
	look func(context.Context, *csiproxy.Client) ([]string, error)
	do   func(context.Context, *csiproxy.Client) (answer, error)
}

// deed makes a command that asks before it acts, and has --dry-run and --yes.
func (a *connection) deed(c *cobra.Command, plan func(args []string) deed) *cobra.Command {
	dryRun := c.Flags().Bool(dryRunFlag, false, dryRunUsage)
	yes := c.Flags().BoolP("yes", "y", false, "do it without asking")
	c.MarkFlagsMutuallyExclusive(dryRunFlag, "yes")
	c.RunE = func(c *cobra.Command, args []string) error {
		args, err := a.resolved(c, args)
		if err != nil {
			return err
		}
		d := plan(args)
		if !*yes {
			found, err := a.lookAt(c, d)
			if err != nil {
				return err
			}
			if *dryRun {
				return a.printPlan(c, d, found)
			}
			if err := confirm(c, d, found); err != nil {
				return err
			}
		}
		return a.runStorage(c, d.doing, d.do)
	}
	return c
}

// lookAt describes what a deed would affect.
func (a *connection) lookAt(c *cobra.Command, d deed) (found []string, err error) {
	found = []string{}
	err = a.api(c, "", func(ctx context.Context, client *csiproxy.Client) error {
		if _, err := client.Connect(ctx); err != nil || d.look == nil {
			return err
		}
		lines, err := d.look(ctx, client)
		found = append(found, lines...)
		return err
	})
	return found, err
}

// printPlan prints what would be done.
func (a *connection) printPlan(c *cobra.Command, d deed, found []string) error {
	rows := append([]string{"Would " + d.what + "."}, found...)
	if d.effect != "" {
		rows = append(rows, d.effect)
	}
	return a.print(c, struct {
		WouldDo string   `json:"wouldDo"`
		Found   []string `json:"found"`
		Effect  string   `json:"effect"`
	}{d.what, found, d.effect}, rows...)
}

// confirm asks the user. Without a terminal nobody can answer, and nothing is done.
func confirm(c *cobra.Command, d deed, found []string) error {
	in := c.InOrStdin()
	if !isTerminal(in) {
		return failure{errNotConfirmed}
	}
	for _, line := range append(found, d.effect) {
		_, _ = fmt.Fprintln(c.ErrOrStderr(), printable.Text(line))
	}
	_, _ = fmt.Fprintf(c.ErrOrStderr(), "%s? [y/N] ", printable.Text(strings.ToUpper(d.what[:1])+d.what[1:]))
	answer, _ := bufio.NewReader(in).ReadString('\n') // an end without an answer is none
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return failure{errNotConfirmed}
}
