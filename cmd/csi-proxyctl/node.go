// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/spf13/cobra"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
)

func nodeCommand(a *connection) *cobra.Command {
	node := &cobra.Command{
		Use:   "node",
		Short: "Do to an emulated node what hardware, a cloud or a person does to a real one",
		Args:  cobra.NoArgs,
		RunE:  needCommand,
	}
	node.AddCommand(
		diskCommand(a), smbCommand(a), iscsiCommand(a), serviceCommand(a), switchCommand(a), clockCommand(a), faultCommand(a),
		pathCommand(a), readlinkCommand(a), rebootCommand(a),
	)
	return node
}

func pathCommand(a *connection) *cobra.Command {
	return &cobra.Command{
		Use:     "path WINPATH",
		Short:   "Print where on this host a path of the node is",
		Long:    "Print where on this host a path of the node is. Links and mount points are followed; the last component may be missing.",
		Example: `  csi-proxyctl node path 'C:\var\lib\kubelet\pods'`,
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.call(c.Context(), func(ctx context.Context, client *adminclient.Client) error {
				r, err := client.GetPath(ctx, &admin.GetPathRequest{WindowsPath: args[0]})
				if err != nil {
					return err
				}
				return a.print(c, message{r}, r.GetHostPath())
			})
		},
	}
}

func readlinkCommand(a *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "readlink WINPATH",
		Short: "Print the target of a link or mount point",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return a.call(c.Context(), func(ctx context.Context, client *adminclient.Client) error {
				r, err := client.Readlink(ctx, &admin.ReadlinkRequest{WindowsPath: args[0]})
				if err != nil {
					return err
				}
				return a.print(c, message{r}, r.GetTarget())
			})
		},
	}
}

func rebootCommand(a *connection) *cobra.Command {
	return &cobra.Command{
		Use:   "reboot",
		Short: "Reboot the node; returns when the agent serves it again",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return a.call(c.Context(), func(ctx context.Context, client *adminclient.Client) error {
				_, err := client.Reboot(ctx, &admin.RebootRequest{})
				return err
			})
		},
	}
}
