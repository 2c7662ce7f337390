// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

// servicePart is a service in a document of the node.
type servicePart struct {
	Name, State, Start string
	PendingQueries     int
}

func serviceCommand(a *connection) *cobra.Command {
	return group("service", "List the node's services and change them behind the agent's back",
		a.runs(a.command("list", "List the services"), a.listServices), setServiceCommand(a))
}

func (a *connection) listServices(ctx context.Context, _ []string) (answer, error) {
	services, err := part[[]servicePart](ctx, a, "services")
	return table("services", "NAME\tSTATUS\tSTART\tPENDING", services, func(s servicePart) (any, []any) {
		return element{"name": s.Name, "status": s.State, "startType": s.Start, // as of system service list
				"pendingQueries": s.PendingQueries},
			[]any{s.Name, s.State, s.Start, fmt.Sprintf("%d queries", s.PendingQueries)}
	}), err
}

func setServiceCommand(a *connection) *cobra.Command {
	c := a.command("set", "Change a service at once, without regard to services that depend on it", "SERVICE")
	c.Example = "  csi-proxyctl node service set MSiSCSI --state stopped"
	c.Flags().String("state", "",
		"running, stopped, paused, start-pending, stop-pending, pause-pending or continue-pending")
	c.Flags().String("start", "", "when it starts: boot, system, automatic, manual or disabled")
	c.Flags().Uint32("pending-queries", 0, "`count` of the queries that find it pending when it starts or stops")
	complete(c, "state", "running", "stopped", "paused", "start-pending", "stop-pending", "pause-pending",
		"continue-pending")
	complete(c, "start", "boot", "system", "automatic", "manual", "disabled")
	c.MarkFlagsOneRequired("state", "start", "pending-queries")
	return a.controls(c, modify, "services", func(args []string) (element, error) {
		return with(flagged(c.Flags(), map[string]string{"state": "state", "start": "start",
			"pending-queries": "pendingQueries"}), element{"name": args[0]}), nil
	}, nil)
}
