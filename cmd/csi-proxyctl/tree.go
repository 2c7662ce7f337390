// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/spf13/cobra"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/treeview"
)

func treeCommand(a *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "tree",
		Short: "Draw the node's disks, partitions, volumes and mount points",
		Long: `Draw the node's disks, partitions, volumes and mount points.

Of an agent without an admin endpoint, what the storage API tells is drawn, and what it does not tell is named below.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			tree, err := a.tree(c)
			if err != nil {
				return err
			}
			if a.output == outputTable {
				return treeview.Write(c.OutOrStdout(), tree)
			}
			return a.print(c, tree)
		},
	}
}

// tree is the node's tree as the admin endpoint tells it; without one, as the API alone does.
func (a *connection) tree(c *cobra.Command) (tree *treeview.Tree, err error) {
	err = a.call(c.Context(), func(ctx context.Context, client *adminclient.Client) error {
		r, err := client.GetTree(ctx, &admin.GetTreeRequest{})
		if err == nil {
			tree = treeview.FromAdmin(r)
		}
		return err
	})
	if !withoutAdmin(err) {
		return tree, err
	}
	apiErr := a.api(c, "asking for disks and volumes", func(ctx context.Context, client *csiproxy.Client) (err error) {
		tree, err = treeview.FromAPI(ctx, client)
		return err
	})
	switch {
	case apiErr == nil:
		tree.Missing = append(tree.Missing, noAdmin(err))
		return tree, nil
	case exitCode(apiErr) == exitUnavailable: // nobody there at all
		return nil, err
	default:
		return nil, apiErr
	}
}
