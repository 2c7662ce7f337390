// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
)

func serviceCommand(a *connection) *cobra.Command {
	return group("service", "List the node's services and change them behind the agent's back",
		a.admin(a.command("list", "List the services"), listServices), setServiceCommand(a))
}

// nodeServiceRow is a service of an emulated node, in the words of serviceView.
type nodeServiceRow struct {
	Name           string `json:"name"`
	Status         string `json:"status"`
	StartType      string `json:"startType"`
	PendingQueries uint32 `json:"pendingQueries"`
	PendingTime    string `json:"pendingTime"`
}

func listServices(ctx context.Context, client *adminclient.Client, _ []string) (answer, error) {
	r, err := client.ListServices(ctx, &admin.ListServicesRequest{})
	list, rows := []nodeServiceRow{}, []string{"NAME\tSTATUS\tSTART\tPENDING"}
	for _, s := range r.GetServices() {
		row := nodeServiceRow{s.GetName(), word(s.GetState(), statePrefix), word(s.GetStart(), startPrefix),
			s.GetPendingQueries(), s.GetPendingTime().AsDuration().String()}
		pending := fmt.Sprintf("%d queries", row.PendingQueries)
		if row.PendingTime != "0s" {
			pending += ", " + row.PendingTime
		}
		list = append(list, row)
		rows = append(rows, strings.Join([]string{row.Name, row.Status, row.StartType, pending}, "\t"))
	}
	return answer{value: map[string]any{"services": list}, rows: rows}, err
}

// The prefixes of the values of these enums. The rest is the word that people write, in lower case and with dashes.
const (
	statePrefix = "SERVICE_STATE_"
	startPrefix = "SERVICE_START_"
)

// parseWord returns the value of an enum that a word names, and 0 for none. 0, which means unspecified, has no word.
func parseWord(text, what, prefix string, values map[string]int32) (int32, error) {
	number := values[prefix+strings.ToUpper(strings.ReplaceAll(text, "-", "_"))]
	if number == 0 && text != "" {
		return 0, fmt.Errorf("%q is not a %s of a service", text, what)
	}
	return number, nil
}

func setServiceCommand(a *connection) *cobra.Command {
	c := a.command("set", "Change a service at once, whatever depends on it", "SERVICE")
	c.Example = "  csi-proxyctl node service set MSiSCSI --state stopped"
	state := c.Flags().String("state", "",
		"running, stopped, paused, start-pending, stop-pending, pause-pending or continue-pending")
	start := c.Flags().String("start", "", "when it starts: boot, system, automatic, manual or disabled")
	queries := c.Flags().Uint32("pending-queries", 0, "how `many` queries find it pending when it starts or stops")
	pending := c.Flags().Duration("pending-time", 0, "how `long` it stays pending at least, by the node's clock")
	complete(c, "state", "running", "stopped", "paused", "start-pending", "stop-pending",
		"pause-pending", "continue-pending")
	complete(c, "start", "boot", "system", "automatic", "manual", "disabled")
	c.MarkFlagsOneRequired("state", "start", "pending-queries", "pending-time")
	c.RunE = func(c *cobra.Command, args []string) error {
		newState, err := parseWord(*state, "state", statePrefix, admin.ServiceState_value)
		if err != nil {
			return err
		}
		newStart, err := parseWord(*start, "start type", startPrefix, admin.ServiceStart_value)
		if err != nil {
			return err
		}
		r := &admin.SetServiceRequest{Name: args[0], State: admin.ServiceState(newState), Start: admin.ServiceStart(newStart)}
		if c.Flags().Changed("pending-queries") {
			r.PendingQueries = queries
		}
		if c.Flags().Changed("pending-time") {
			r.PendingTime = durationpb.New(*pending)
		}
		return a.runAdmin(c, args, func(ctx context.Context, client *adminclient.Client, _ []string) (answer, error) {
			return done(client.SetService(ctx, r))
		})
	}
	return change(c)
}
