// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/treeview"
)

// connection is how the commands reach the agent.
type connection struct{ socketDir *string }

// call connects, calls, and turns what goes wrong into a failure.
func (a *connection) call(ctx context.Context, do func(context.Context, *adminclient.Client) error) error {
	client, err := adminclient.Dial(ctx, *a.socketDir)
	if err != nil {
		return failure{err}
	}
	defer func() { _ = client.Close() }()
	if err := do(ctx, client); err != nil {
		return failure{adminclient.Explain(err)}
	}
	return nil
}

// printLine prints what a command found out.
func printLine(c *cobra.Command, value any) error {
	_, err := fmt.Fprintln(c.OutOrStdout(), value)
	return err
}

func apisCommand(a *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "apis",
		Short: "List the API groups and versions that the agent serves",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.call(c.Context(), func(ctx context.Context, client *adminclient.Client) error {
				list, err := client.ListAPIs(ctx, &admin.ListAPIsRequest{})
				if err != nil {
					return err
				}
				table := tabwriter.NewWriter(c.OutOrStdout(), 0, 0, 2, ' ', 0)
				rows := "GROUP\tVERSION\tENDPOINT\n"
				for _, api := range list.GetApis() {
					rows += fmt.Sprintf("%s\t%s\t%s\n", api.GetGroup(), api.GetVersion(), api.GetEndpoint())
				}
				_, err = io.WriteString(table, rows)
				return errors.Join(err, table.Flush())
			})
		},
	}
}

func treeCommand(a *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "tree",
		Short: "Draw the node's disks, partitions, volumes and mount points",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.call(c.Context(), func(ctx context.Context, client *adminclient.Client) error {
				tree, err := client.GetTree(ctx, &admin.GetTreeRequest{})
				if err != nil {
					return err
				}
				return treeview.Write(c.OutOrStdout(), tree)
			})
		},
	}
}
