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
		a.admin(&cobra.Command{Use: "list", Short: "List the services"}, listServices), setServiceCommand(a))
}

func listServices(ctx context.Context, client *adminclient.Client, _ []string) (answer, error) {
	list, err := client.ListServices(ctx, &admin.ListServicesRequest{})
	rows := []string{"NAME\tSTATE\tSTART\tPENDING"}
	for _, s := range list.GetServices() {
		pending := fmt.Sprintf("%d queries", s.GetPendingQueries())
		if d := s.GetPendingTime().AsDuration(); d > 0 {
			pending += ", " + d.String()
		}
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s\t%s", s.GetName(), word(s.GetState(), statePrefix),
			word(s.GetStart(), startPrefix), pending))
	}
	return shown(list, err, rows...)
}

// The prefixes of the values of these enums. The rest is the word that people write, in lower case and with dashes.
const (
	statePrefix = "SERVICE_STATE_"
	startPrefix = "SERVICE_START_"
)

func word(value fmt.Stringer, prefix string) string {
	return strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(value.String(), prefix), "_", "-"))
}

// parseWord returns the value of an enum that a word names. 0, which means unspecified, has no word.
func parseWord(text, what, prefix string, values map[string]int32) (int32, error) {
	number := values[prefix+strings.ToUpper(strings.ReplaceAll(text, "-", "_"))]
	if number == 0 {
		return 0, fmt.Errorf("%q is not a %s of a service", text, what)
	}
	return number, nil
}

func setServiceCommand(a *connection) *cobra.Command {
	c := &cobra.Command{
		Use:   "set SERVICE [flags]",
		Short: "Change a service at once, whatever depends on it",
		Example: `  csi-proxyctl node service set MSiSCSI --state stopped
  csi-proxyctl node service set Spooler --pending-time 1m`,
		DisableFlagsInUseLine: true,
	}
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
		r := &admin.SetServiceRequest{Name: args[0]}
		if *state != "" {
			n, err := parseWord(*state, "state", statePrefix, admin.ServiceState_value)
			if err != nil {
				return err
			}
			r.State = admin.ServiceState(n)
		}
		if *start != "" {
			n, err := parseWord(*start, "start type", startPrefix, admin.ServiceStart_value)
			if err != nil {
				return err
			}
			r.Start = admin.ServiceStart(n)
		}
		if c.Flags().Changed("pending-queries") {
			r.PendingQueries = queries
		}
		if c.Flags().Changed("pending-time") {
			r.PendingTime = durationpb.New(*pending)
		}
		return a.runAdmin(c, func(ctx context.Context, client *adminclient.Client) (answer, error) {
			return done(client.SetService(ctx, r))
		})
	}
	return change(c)
}

func switchCommand(a *connection) *cobra.Command {
	return group("switch", "List and set the answers to questions that the documentation of Windows leaves open",
		a.admin(&cobra.Command{Use: "list", Short: "List the switches with the node's answers"}, listSwitches),
		change(a.admin(&cobra.Command{Use: "set SWITCH ANSWER", Short: "Change the answer to a question, for all later calls",
			Example: "  csi-proxyctl node switch set msr delayed"},
			func(ctx context.Context, client *adminclient.Client, args []string) (answer, error) {
				return done(client.SetSwitch(ctx, &admin.SetSwitchRequest{Name: args[0], Value: args[1]}))
			})))
}

func listSwitches(ctx context.Context, client *adminclient.Client, _ []string) (answer, error) {
	list, err := client.ListSwitches(ctx, &admin.ListSwitchesRequest{})
	rows := []string{"NAME\tANSWER\tPOSSIBLE\tABOUT"}
	for _, s := range list.GetSwitches() {
		row := fmt.Sprintf("%s\t%s\t%s\t%s", s.GetName(), s.GetValue(), s.GetForm(), s.GetAbout())
		rows = append(rows, strings.ReplaceAll(row, "`", ""))
	}
	return shown(list, err, rows...)
}
