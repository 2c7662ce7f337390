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
	clock := &cobra.Command{
		Use:   "clock",
		Short: "Read and change the node's clock",
		Long: `Read and change the node's clock.

Services that start or stop, iSCSI portals that are cut off, and the times of files that the agent makes go by it.
Deadlines of calls do not.`,
		Args: cobra.NoArgs,
		RunE: needCommand,
	}
	clock.AddCommand(
		&cobra.Command{
			Use:   "show",
			Short: "Print the node's time",
			Args:  cobra.NoArgs,
			RunE: func(c *cobra.Command, _ []string) error {
				return a.call(c.Context(), func(ctx context.Context, client *adminclient.Client) error {
					r, err := client.GetClock(ctx, &admin.GetClockRequest{})
					if err != nil {
						return err
					}
					text := r.GetNow().AsTime().UTC().Format(time.RFC3339Nano)
					if r.GetStopped() {
						text += " stopped"
					}
					return a.print(c, message{r}, text)
				})
			},
		},
		clockChange(a, "set TIME", "Set the clock", "  csi-proxyctl node clock set 2026-01-31T12:00:00Z", 1, func(args []string) (*admin.SetClockRequest, error) {
			to, err := time.Parse(time.RFC3339, args[0])
			if err != nil {
				return nil, fmt.Errorf("%q is no time, such as 2026-01-31T12:00:00Z", args[0])
			}
			return &admin.SetClockRequest{To: timestamppb.New(to)}, nil
		}),
		clockChange(a, "advance DURATION", "Let time pass on the node", "  csi-proxyctl node clock advance 1m", 1, func(args []string) (*admin.SetClockRequest, error) {
			by, err := time.ParseDuration(args[0])
			if err != nil {
				return nil, fmt.Errorf("%q is no duration, such as 90s", args[0])
			}
			return &admin.SetClockRequest{Advance: durationpb.New(by)}, nil
		}),
		clockChange(a, "stop", "Let the clock stand until it is set or advanced", "", 0, stopClock(true)),
		clockChange(a, "start", "Let the clock go again", "", 0, stopClock(false)),
	)
	return clock
}

func stopClock(stopped bool) func([]string) (*admin.SetClockRequest, error) {
	return func([]string) (*admin.SetClockRequest, error) { return &admin.SetClockRequest{Stopped: &stopped}, nil }
}

func clockChange(a *connection, use, short, example string, args int, request func(args []string) (*admin.SetClockRequest, error)) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Example: example, Args: cobra.ExactArgs(args),
		RunE: func(c *cobra.Command, args []string) error {
			r, err := request(args)
			if err != nil {
				return err
			}
			return a.call(c.Context(), func(ctx context.Context, client *adminclient.Client) error {
				_, err := client.SetClock(ctx, r)
				return err
			})
		},
	}
}
