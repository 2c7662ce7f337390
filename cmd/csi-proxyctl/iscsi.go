// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/spf13/cobra"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
)

func iscsiCommand(a *connection) *cobra.Command {
	return group("iscsi", "Cut iSCSI portals off and connect them again, drop sessions",
		portalCommand(a, "disconnect", "Cut a portal off; the disks of its sessions disappear after a minute of the node's clock", false),
		portalCommand(a, "connect", "Connect a portal again; the sessions and disks that were lost with it come back", true),
		a.admin(&cobra.Command{
			Use: "drop TARGET", Short: "End the session with a target, even if its disks are in use", Example: "  csi-proxyctl node iscsi drop iqn.2026-01.emulated:open",
		}, func(ctx context.Context, client *adminclient.Client, args []string) (answer, error) {
			return done(client.DropISCSISession(ctx, &admin.DropISCSISessionRequest{Target: args[0]}))
		}))
}

func portalCommand(a *connection, name, short string, connected bool) *cobra.Command {
	c := &cobra.Command{Use: name + " ADDRESS[:PORT]", Short: short, Example: "  csi-proxyctl node iscsi " + name + " 192.0.2.10"}
	c.Args = func(c *cobra.Command, args []string) error {
		if err := cobra.ExactArgs(1)(c, args); err != nil {
			return err
		}
		_, err := parsePortal(args[0])
		return err
	}
	return a.admin(c, func(ctx context.Context, client *adminclient.Client, args []string) (answer, error) {
		portal := portalOf(args)
		return done(client.SetISCSIPortalState(ctx, &admin.SetISCSIPortalStateRequest{Address: portal.GetTargetAddress(), Port: portal.GetTargetPort(), Connected: connected}))
	})
}
