// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
)

func clockCommand(a *connection) *cobra.Command {
	c := group("clock", "Read and change the node's clock",
		a.admin(&cobra.Command{Use: "show", Short: "Print the node's time"},
			func(ctx context.Context, client *adminclient.Client, _ []string) (answer, error) {
				r, err := client.GetClock(ctx, &admin.GetClockRequest{})
				text := r.GetNow().AsTime().UTC().Format(time.RFC3339Nano)
				if r.GetStopped() {
					text += " stopped"
				}
				return shown(r, err, text)
			}),
		clockChange(a, &cobra.Command{Use: "set TIME", Short: "Set the clock",
			Example: "  csi-proxyctl node clock set 2026-01-31T12:00:00Z"},
			func(args []string) (*admin.SetClockRequest, error) {
				to, err := time.Parse(time.RFC3339, args[0])
				if err != nil {
					return nil, fmt.Errorf("%q is not a time such as 2026-01-31T12:00:00Z", args[0])
				}
				return &admin.SetClockRequest{To: timestamppb.New(to)}, nil
			}),
		clockChange(a, &cobra.Command{Use: "advance DURATION", Short: "Let time pass on the node",
			Example: "  csi-proxyctl node clock advance 1m"},
			func(args []string) (*admin.SetClockRequest, error) {
				by, err := time.ParseDuration(args[0])
				if err != nil {
					return nil, fmt.Errorf("%q is not a duration such as 90s", args[0])
				}
				return &admin.SetClockRequest{Advance: durationpb.New(by)}, nil
			}),
		clockChange(a, &cobra.Command{Use: "stop", Short: "Stop the clock until it is set or advanced"}, stopClock(true)),
		clockChange(a, &cobra.Command{Use: "start", Short: "Start the clock again"}, stopClock(false)),
	)
	c.Long = c.Short + `.

Services that start or stop, iSCSI portals that are cut off, and the times of files that the agent makes go by it.
Deadlines of calls do not.`
	return c
}

func stopClock(stopped bool) func([]string) (*admin.SetClockRequest, error) {
	return func([]string) (*admin.SetClockRequest, error) { return &admin.SetClockRequest{Stopped: &stopped}, nil }
}

func clockChange(a *connection, c *cobra.Command,
	request func(args []string) (*admin.SetClockRequest, error)) *cobra.Command {
	c.RunE = func(c *cobra.Command, args []string) error {
		r, err := request(args)
		if err != nil {
			return err
		}
		return a.runAdmin(c, func(ctx context.Context, client *adminclient.Client) (answer, error) {
			return done(client.SetClock(ctx, r))
		})
	}
	return change(c)
}
