// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
)

func serviceCommand(a *connection) *cobra.Command {
	return group("service", "List the node's services and change them behind the agent's back",
		query(a, "list", "List the services", nodeClient.ListServices, showServices), setServiceCommand(a))
}

// nodeServiceRow is a service of an emulated node, in the words of serviceView.
type nodeServiceRow struct {
	Name           string `json:"name"`
	Status         string `json:"status"`
	StartType      string `json:"startType"`
	PendingQueries uint32 `json:"pendingQueries"`
	PendingTime    string `json:"pendingTime"`
}

func showServices(_ []string, r *admin.ListServicesResponse) answer {
	list, rows := []nodeServiceRow{}, []string{"NAME\tSTATUS\tSTART\tPENDING"}
	for _, s := range r.GetServices() {
		row := nodeServiceRow{s.GetName(), word(s.GetState()), word(s.GetStart()), s.GetPendingQueries(),
			s.GetPendingTime().AsDuration().String()}
		pending := fmt.Sprintf("%d queries", row.PendingQueries)
		if row.PendingTime != "0s" {
			pending += ", " + row.PendingTime
		}
		list = append(list, row)
		rows = append(rows, strings.Join([]string{row.Name, row.Status, row.StartType, pending}, "\t"))
	}
	return answer{value: map[string]any{"services": list}, rows: rows}
}

func setServiceCommand(a *connection) *cobra.Command {
	r := &admin.SetServiceRequest{}
	c := changeWith(a, "set", "Change a service at once, whatever depends on it", r, nodeClient.SetService, "SERVICE")
	c.Example = "  csi-proxyctl node service set MSiSCSI --state stopped"
	state := c.Flags().String("state", "",
		"running, stopped, paused, start-pending, stop-pending, pause-pending or continue-pending")
	start := c.Flags().String("start", "", "when it starts: boot, system, automatic, manual or disabled")
	queries := c.Flags().Uint32("pending-queries", 0, "how `many` queries find it pending when it starts or stops")
	pending := c.Flags().Duration("pending-time", 0, "how `long` it stays pending at least, by the node's clock")
	complete(c, "state", words(r.GetState().Descriptor())...)
	complete(c, "start", words(r.GetStart().Descriptor())...)
	c.MarkFlagsOneRequired("state", "start", "pending-queries", "pending-time")
	return first(c, func([]string) error {
		newState, err := parseWord(*state, "state", r.GetState().Descriptor())
		if err != nil {
			return err
		}
		newStart, err := parseWord(*start, "start type", r.GetStart().Descriptor())
		r.State, r.Start = admin.ServiceState(newState), admin.ServiceStart(newStart)
		if c.Flags().Changed("pending-queries") {
			r.PendingQueries = queries
		}
		if c.Flags().Changed("pending-time") {
			r.PendingTime = durationpb.New(*pending)
		}
		return err
	})
}
