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
			Use:   "path WINPATH",
			Short: "Print where on this host a path of the node is",
			Long: "Print where on this host a path of the node is. Links and mount points are followed; the last component " +
				"may be missing.",
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
		change(a.admin(&cobra.Command{Use: "reboot", Short: "Reboot the node; returns when the agent serves it again"},
			func(ctx context.Context, client *adminclient.Client, _ []string) (answer, error) {
				return done(client.Reboot(ctx, &admin.RebootRequest{}))
			})),
		saveCommand(a),
		change(a.admin(&cobra.Command{
			Use:   "restore DIR",
			Short: "Make the node what was saved in a directory",
			Long: "Make the node what was saved in a directory, which stays as it is. Calls are cut off as by a reboot, and " +
				"all that the node had " +
				"is gone, its detached disks too.",
			Example: "  csi-proxyctl node restore /tmp/staged",
		}, func(ctx context.Context, client *adminclient.Client, args []string) (answer, error) {
			dir, err := absolute(args[0])
			if err != nil {
				return answer{}, err
			}
			return done(client.RestoreNode(ctx, &admin.RestoreNodeRequest{Directory: dir}))
		})),
	)
}

func saveCommand(a *connection) *cobra.Command {
	c := &cobra.Command{
		Use:   "save DIR",
		Short: "Copy the node, with its disks and their files, into a new directory",
		Long: "Copy the node, with its disks and their files, into a new directory: a state directory, with which an agent " +
			"goes on as after " +
			"the death of this one. It holds the node's secrets, and is for its user alone.",
		Example: `  csi-proxyctl node save /tmp/staged
  csi-proxyctl node save --clone /tmp/twin && csi-proxy-emulated -state-dir=/tmp/twin`,
	}
	clone := c.Flags().Bool("clone", false, "the copy is another machine, with a serial number of its own")
	return change(a.admin(c, func(ctx context.Context, client *adminclient.Client, args []string) (answer, error) {
		dir, err := absolute(args[0])
		if err != nil {
			return answer{}, err
		}
		return done(client.SaveNode(ctx, &admin.SaveNodeRequest{Directory: dir, Clone: *clone}))
	}))
}
