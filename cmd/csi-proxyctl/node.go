// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/spf13/cobra"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
)

func nodeCommand(a *connection) *cobra.Command {
	return group("node", "Do to an emulated node what hardware, a cloud or a person does to a real one",
		diskCommand(a), smbCommand(a), iscsiCommand(a), serviceCommand(a), switchCommand(a), clockCommand(a), faultCommand(a),
		a.admin(&cobra.Command{
			Use:     "path WINPATH",
			Short:   "Print where on this host a path of the node is",
			Long:    "Print where on this host a path of the node is. Links and mount points are followed; the last component may be missing.",
			Example: `  csi-proxyctl node path 'C:\var\lib\kubelet\pods'`,
		}, func(ctx context.Context, client *adminclient.Client, args []string) (answer, error) {
			r, err := client.GetPath(ctx, &admin.GetPathRequest{WindowsPath: args[0]})
			return shown(r, err, r.GetHostPath())
		}),
		a.admin(&cobra.Command{Use: "readlink WINPATH", Short: "Print the target of a link or mount point"},
			func(ctx context.Context, client *adminclient.Client, args []string) (answer, error) {
				r, err := client.Readlink(ctx, &admin.ReadlinkRequest{WindowsPath: args[0]})
				return shown(r, err, r.GetTarget())
			}),
		a.admin(&cobra.Command{Use: "reboot", Short: "Reboot the node; returns when the agent serves it again"},
			func(ctx context.Context, client *adminclient.Client, _ []string) (answer, error) {
				return done(client.Reboot(ctx, &admin.RebootRequest{}))
			}),
	)
}
