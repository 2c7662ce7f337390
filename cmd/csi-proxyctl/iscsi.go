// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
)

func iscsiCommand(a *connection) *cobra.Command {
	return group("iscsi", "Cut iSCSI portals off and connect them again, drop sessions",
		a.admin(&cobra.Command{Use: "list", Short: "List the portals with their targets"}, listStorage),
		portalCommand(a, "disconnect",
			"Cut a portal off; the disks of its sessions disappear after a minute of the node's clock", false),
		portalCommand(a, "connect", "Connect a portal again; the sessions and disks that were lost with it come back", true),
		change(a.admin(&cobra.Command{
			Use: "drop TARGET", Short: "End the session with a target, even if its disks are in use",
			Example: "  csi-proxyctl node iscsi drop iqn.2026-01.emulated:open",
		}, func(ctx context.Context, client *adminclient.Client, args []string) (answer, error) {
			return done(client.DropISCSISession(ctx, &admin.DropISCSISessionRequest{Target: args[0]}))
		})))
}

func listStorage(ctx context.Context, client *adminclient.Client, _ []string) (answer, error) {
	r, err := client.ListNetwork(ctx, &admin.ListNetworkRequest{})
	rows := []string{"PORTAL\tCONNECTED\tTARGETS"}
	for _, p := range r.GetPortals() {
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s",
			net.JoinHostPort(p.GetAddress(), strconv.FormatUint(uint64(p.GetPort()), 10)),
			map[bool]string{true: "yes", false: "no"}[p.GetConnected()], orDash(strings.Join(p.GetTargets(), ", "))))
	}
	return answer{value: map[string]any{"portals": messages(r.GetPortals())}, rows: rows}, err
}

func portalCommand(a *connection, name, short string, connected bool) *cobra.Command {
	c := &cobra.Command{Use: name + " PORTAL", Short: short, Example: "  csi-proxyctl node iscsi " + name + " 192.0.2.10"}
	return change(a.admin(c, func(ctx context.Context, client *adminclient.Client, args []string) (answer, error) {
		portal := portalOf(args)
		return done(client.SetISCSIPortalState(ctx, &admin.SetISCSIPortalStateRequest{Address: portal.GetTargetAddress(),
			Port: portal.GetTargetPort(), Connected: connected}))
	}))
}
