// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

func iscsiGroup(a *connection) *cobra.Command {
	c := groupCommand("iscsi", "Register iSCSI portals, log in to targets, find their disks",
		groupCommand("portal", "Register portals and ask them for targets",
			onePortal(a, "add", "Register a portal; it stays over reboots", "registering the portal", addPortal),
			onePortal(a, "remove", "Forget a portal; targets that are connected stay connected", "forgetting the portal", removePortal),
			listPortalsCommand(a),
			discoverCommand(a)),
		loginCommand(a), logoutCommand(a), targetDisksCommand(a), mutualSecretCommand(a))
	c.Long = c.Short + `.

A PORTAL is an address, with a port if it is not 3260: 192.0.2.10, 192.0.2.10:3260, [2001:db8::10]:3260. A TARGET is an
iSCSI qualified name, as csi-proxyctl iscsi portal discover prints it.`
	return c
}

// portalOf is the portal that an argument names, which has been checked.
func portalOf(text string) *iscsiapi.TargetPortal {
	address, port, _ := parsePortal(text)
	return &iscsiapi.TargetPortal{TargetAddress: address, TargetPort: port}
}

// portalText is a portal as an argument.
func portalText(p *iscsiapi.TargetPortal) string {
	return net.JoinHostPort(p.GetTargetAddress(), strconv.FormatUint(uint64(p.GetTargetPort()), 10))
}

// onePortal is a command that calls the API for one portal and prints nothing.
func onePortal(a *connection, use, short, doing string, call func(context.Context, *csiproxy.Client, *iscsiapi.TargetPortal) error) *cobra.Command {
	return apiCommand(a, &cobra.Command{
		Use: use + " PORTAL", Short: short, Example: "  csi-proxyctl iscsi portal " + use + " 192.0.2.10", Args: portalFirst(1), ValidArgsFunction: a.completePortals,
	}, doing, func(ctx context.Context, _ *cobra.Command, client *csiproxy.Client, args []string) error {
		return call(ctx, client, portalOf(args[0]))
	})
}

func addPortal(ctx context.Context, client *csiproxy.Client, portal *iscsiapi.TargetPortal) error {
	_, err := client.ISCSI.AddTargetPortal(ctx, &iscsiapi.AddTargetPortalRequest{TargetPortal: portal})
	return err
}

func removePortal(ctx context.Context, client *csiproxy.Client, portal *iscsiapi.TargetPortal) error {
	_, err := client.ISCSI.RemoveTargetPortal(ctx, &iscsiapi.RemoveTargetPortalRequest{TargetPortal: portal})
	return err
}

// portalRow is a registered portal.
type portalRow struct {
	Address string `json:"address"`
	Port    uint32 `json:"port"`
}

func listPortalsCommand(a *connection) *cobra.Command {
	return apiCommand(a, &cobra.Command{
		Use: "list", Short: "List the registered portals", Args: cobra.NoArgs,
	}, "listing the portals", func(ctx context.Context, c *cobra.Command, client *csiproxy.Client, _ []string) error {
		r, err := client.ISCSI.ListTargetPortals(ctx, &iscsiapi.ListTargetPortalsRequest{})
		if err != nil {
			return err
		}
		list, rows := []portalRow{}, []string{"ADDRESS\tPORT"}
		for _, p := range r.GetTargetPortals() {
			list = append(list, portalRow{p.GetTargetAddress(), p.GetTargetPort()})
			rows = append(rows, fmt.Sprintf("%s\t%d", p.GetTargetAddress(), p.GetTargetPort()))
		}
		return a.print(c, map[string]any{"portals": list}, rows...)
	})
}

func discoverCommand(a *connection) *cobra.Command {
	return apiCommand(a, &cobra.Command{
		Use: "discover PORTAL", Short: "Ask a registered portal for its targets", Args: portalFirst(1), ValidArgsFunction: a.completePortals,
	}, "asking the portal for its targets", func(ctx context.Context, c *cobra.Command, client *csiproxy.Client, args []string) error {
		r, err := client.ISCSI.DiscoverTargetPortal(ctx, &iscsiapi.DiscoverTargetPortalRequest{TargetPortal: portalOf(args[0])})
		if err != nil {
			return err
		}
		return a.print(c, map[string][]string{"targets": append([]string{}, r.GetIqns()...)}, r.GetIqns()...)
	})
}

// authType is how a login proves who it is.
func authType(word string) (iscsiapi.AuthenticationType, error) {
	types := map[string]iscsiapi.AuthenticationType{
		"none": iscsiapi.AuthenticationType_NONE, "chap": iscsiapi.AuthenticationType_ONE_WAY_CHAP, "mutual-chap": iscsiapi.AuthenticationType_MUTUAL_CHAP,
	}
	t, ok := types[word]
	if !ok {
		return 0, fmt.Errorf("the authentication %q is none of none, chap and mutual-chap", word)
	}
	return t, nil
}

func loginCommand(a *connection) *cobra.Command {
	c := &cobra.Command{
		Use:   "login PORTAL TARGET",
		Short: "Log in to a target; its disks arrive offline and read-only",
		Long: `Log in to a target that a discovery has found; its disks arrive offline and read-only.

With --auth chap or mutual-chap the secret of the user is read from a file, or from standard input with -. A target that
is connected is left so, whatever the credentials.`,
		Example: "  csi-proxyctl iscsi login 192.0.2.10 iqn.2026-01.example:data --auth chap --user csi-user --password-file -",
		Args:    portalFirst(2), ValidArgsFunction: a.completeTargets,
	}
	auth := c.Flags().String("auth", "none", "`how` the node and the target prove who they are: none, chap or mutual-chap")
	user := c.Flags().String("user", "", "CHAP user `name` (default: the node's initiator name)")
	file := c.Flags().String("password-file", "", "`file` with the CHAP secret, 12 to 16 bytes; -: standard input")
	complete(c, "auth", "none", "chap", "mutual-chap")
	c.RunE = func(c *cobra.Command, args []string) error {
		kind, err := authType(*auth)
		if err != nil {
			return err
		}
		if chap := kind != iscsiapi.AuthenticationType_NONE; chap != (*file != "") {
			return fmt.Errorf("--password-file goes with --auth chap and mutual-chap, and they with it; --auth is %s", *auth)
		}
		request := &iscsiapi.ConnectTargetRequest{TargetPortal: portalOf(args[0]), Iqn: args[1], AuthType: kind, ChapUsername: *user}
		if *file != "" {
			if request.ChapSecret, err = readPassword(*file, c.InOrStdin()); err != nil {
				return failure{err}
			}
		}
		return a.api(c, "logging in", func(ctx context.Context, client *csiproxy.Client) error {
			_, err := client.ISCSI.ConnectTarget(ctx, request)
			return err
		})
	}
	return c
}

func targetDisks(ctx context.Context, client *csiproxy.Client, args []string) ([]string, error) {
	r, err := client.ISCSI.GetTargetDisks(ctx, &iscsiapi.GetTargetDisksRequest{TargetPortal: portalOf(args[0]), Iqn: args[1]})
	return append([]string{}, r.GetDiskIDs()...), err
}

func logoutCommand(a *connection) *cobra.Command {
	c := &cobra.Command{Use: "logout PORTAL TARGET", Short: "Log out of a target, for good", Args: portalFirst(2), ValidArgsFunction: a.completeTargets}
	return deedCommand(a, c, func(args []string) (deed, error) {
		return deed{
			what: "log out of " + args[1], doing: "logging out",
			effect: "Its disks disappear. While a volume of one is mounted it is refused.",
			look: func(ctx context.Context, client *csiproxy.Client) ([]string, error) {
				disks, err := targetDisks(ctx, client, args)
				if err != nil || len(disks) == 0 {
					return []string{"The target has given this node no disks."}, err
				}
				return []string{"Disks of the target: " + strings.Join(disks, ", ")}, nil
			},
			do: func(ctx context.Context, client *csiproxy.Client) error {
				_, err := client.ISCSI.DisconnectTarget(ctx, &iscsiapi.DisconnectTargetRequest{TargetPortal: portalOf(args[0]), Iqn: args[1]})
				return err
			},
		}, nil
	})
}

func targetDisksCommand(a *connection) *cobra.Command {
	return apiCommand(a, &cobra.Command{
		Use: "disks PORTAL TARGET", Short: "Print the numbers of the disks that a target has given the node", Args: portalFirst(2), ValidArgsFunction: a.completeTargets,
	}, "asking for the disks of the target", func(ctx context.Context, c *cobra.Command, client *csiproxy.Client, args []string) error {
		disks, err := targetDisks(ctx, client, args)
		if err != nil {
			return err
		}
		return a.print(c, map[string][]string{"disks": disks}, disks...)
	})
}

func mutualSecretCommand(a *connection) *cobra.Command {
	c := &cobra.Command{
		Use:                   "mutual-secret --password-file FILE",
		Short:                 "Set the secret by which targets prove themselves to this node; there is one for all",
		Args:                  cobra.NoArgs,
		DisableFlagsInUseLine: true,
	}
	file := c.Flags().String("password-file", "", "`file` with the secret, 12 to 16 bytes; -: standard input")
	required(c, "password-file")
	c.RunE = func(c *cobra.Command, _ []string) error {
		secret, err := readPassword(*file, c.InOrStdin())
		if err != nil {
			return failure{err}
		}
		return a.api(c, "setting the secret", func(ctx context.Context, client *csiproxy.Client) error {
			_, err := client.ISCSI.SetMutualChapSecret(ctx, &iscsiapi.SetMutualChapSecretRequest{MutualChapSecret: secret})
			return err
		})
	}
	return c
}
