// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/spf13/cobra"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/treeview"
)

func treeCommand(a *connection) *cobra.Command {
	c := a.command("tree", "Draw the node's disks, partitions, volumes and mount points")
	c.Long = c.Short + `.

If the agent has no admin endpoint, the tree shows what the storage API shows, and a list below names what is missing.`
	c.RunE = func(c *cobra.Command, _ []string) error {
		stop := showProgress(c)
		tree, why, err := a.tree(c.Context())
		stop()
		if why != nil && err != nil {
			if err = (failure{explain(err)}); exitCode(err) == exitUnavailable { // nobody there at all
				return why
			}
		}
		if err != nil {
			return err
		}
		if why != nil {
			tree.Missing = append(tree.Missing, noAdmin(why))
		}
		if a.output.forPeople() {
			return treeview.Write(c.OutOrStdout(), tree)
		}
		return a.print(c, tree)
	}
	return c
}

// tree returns the node's tree from the admin endpoint. If there is none, the tree comes from the storage API, and why
// is the reason.
func (a *connection) tree(ctx context.Context) (tree *treeview.Tree, why, err error) {
	r, err := invoke(ctx, a, admin.AdminClient.GetTree, &admin.GetTreeRequest{})
	if !withoutAdmin(err) {
		return treeview.FromAdmin(r), nil, err
	}
	ctx, cancel := a.limited(ctx)
	defer cancel()
	tree, apiErr := treeview.FromAPI(ctx, a.client(), a.reason)
	return tree, err, apiErr
}
