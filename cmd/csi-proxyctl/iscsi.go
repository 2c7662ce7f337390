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
	iscsi := &cobra.Command{Use: "iscsi", Short: "Cut iSCSI portals off and connect them again, drop sessions", Args: cobra.NoArgs, RunE: needCommand}
	iscsi.AddCommand(
		portalCommand(a, "disconnect", "Cut a portal off; the disks of its sessions disappear after a minute of the node's clock", false),
		portalCommand(a, "connect", "Connect a portal again; what was lost with it comes back", true),
		simpleCommand(a, "drop TARGET", "End the session with a target, whatever uses its disks", "  csi-proxyctl node iscsi drop iqn.2026-01.emulated:open", 1,
			func(ctx context.Context, client *adminclient.Client, args []string) error {
				_, err := client.DropISCSISession(ctx, &admin.DropISCSISessionRequest{Target: args[0]})
				return err
			}),
	)
	return iscsi
}

func portalCommand(a *connection, name, short string, connected bool) *cobra.Command {
	return &cobra.Command{
		Use:     name + " ADDRESS[:PORT]",
		Short:   short,
		Example: "  csi-proxyctl node iscsi " + name + " 192.0.2.10",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			address, port, err := parsePortal(args[0])
			if err != nil {
				return err
			}
			return a.call(c.Context(), func(ctx context.Context, client *adminclient.Client) error {
				_, err := client.SetISCSIPortalState(ctx, &admin.SetISCSIPortalStateRequest{Address: address, Port: port, Connected: connected})
				return err
			})
		},
	}
}

// parsePortal reads a host, or a host and a port; of an IPv6 address with a port the address is in brackets.
func parsePortal(text string) (address string, port uint32, err error) {
	if strings.Count(text, ":") != 1 && !strings.HasPrefix(text, "[") {
		return text, 0, nil
	}
	host, number, err := net.SplitHostPort(text)
	if err == nil {
		n, wrong := strconv.ParseUint(number, 10, 16)
		port, err = uint32(n), wrong
	}
	if err != nil || port == 0 {
		return "", 0, fmt.Errorf("%q is no portal, such as 192.0.2.10 or 192.0.2.10:3260", text)
	}
	return host, port, nil
}
