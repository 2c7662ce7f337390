// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
)

func iscsiGroup(a *connection) *cobra.Command {
	c := group("iscsi", "Register iSCSI portals, log in to targets, find their disks",
		group("portal", "Register portals and ask them for targets",
			change(a.storage(a.command("add", "Register a portal; it survives reboots", "PORTAL"),
				func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
					return done(client.ISCSI.AddTargetPortal(ctx, &iscsiapi.AddTargetPortalRequest{TargetPortal: portalOf(args)}))
				})),
			change(a.storage(a.command("remove", "Forget a portal; targets that are connected stay connected", "PORTAL"),
				func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
					return done(client.ISCSI.RemoveTargetPortal(ctx,
						&iscsiapi.RemoveTargetPortalRequest{TargetPortal: portalOf(args)}))
				})),
			a.storage(a.command("list", "List the registered portals"), listPortals),
			a.storage(a.command("discover", "Ask a registered portal for its targets", "PORTAL"),
				func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
					r, err := client.ISCSI.DiscoverTargetPortal(ctx,
						&iscsiapi.DiscoverTargetPortalRequest{TargetPortal: portalOf(args)})
					return plainList("targets", r.GetIqns(), err)
				})),
		loginCommand(a),
		asks(a.storage(a.command("logout", "Log out of a target, for good", "PORTAL", "TARGET"),
			func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
				return done(client.ISCSI.DisconnectTarget(ctx,
					&iscsiapi.DisconnectTargetRequest{TargetPortal: portalOf(args), Iqn: args[1]}))
			}), "Its disks disappear. It is refused while a volume on one of them is mounted."),
		a.storage(a.command("disks", "Print the numbers of the disks that a target has given the node", "PORTAL", "TARGET"),
			func(ctx context.Context, client *csiproxy.Client, args []string) (answer, error) {
				r, err := client.ISCSI.GetTargetDisks(ctx,
					&iscsiapi.GetTargetDisksRequest{TargetPortal: portalOf(args), Iqn: args[1]})
				return plainList("disks", r.GetDiskIDs(), err)
			}),
		a.admin(a.command("sessions", "List the sessions with targets, also those that others made"), listSessions),
		mutualSecretCommand(a))
	c.Long = c.Short + `.

A PORTAL is an address, with a port if it is not 3260: 192.0.2.10, 192.0.2.10:3260, [2001:db8::10]:3260. A TARGET is an
iSCSI qualified name, as csi-proxyctl iscsi portal discover prints it.`
	return c
}

// portalRow is a registered portal.
type portalRow struct {
	Address string `json:"address"`
	Port    uint32 `json:"port"`
}

func listPortals(ctx context.Context, client *csiproxy.Client, _ []string) (answer, error) {
	r, err := client.ISCSI.ListTargetPortals(ctx, &iscsiapi.ListTargetPortalsRequest{})
	list, rows := []portalRow{}, []string{"ADDRESS\tPORT"}
	for _, p := range r.GetTargetPortals() {
		list = append(list, portalRow{p.GetTargetAddress(), p.GetTargetPort()})
		rows = append(rows, fmt.Sprintf("%s\t%d", p.GetTargetAddress(), p.GetTargetPort()))
	}
	return answer{value: map[string]any{"portals": list}, rows: rows}, err
}

func loginCommand(a *connection) *cobra.Command {
	c := a.command("login", "Log in to a target; its disks arrive offline and read-only", "PORTAL", "TARGET")
	c.Long = `Log in to a target that a discovery has found; its disks arrive offline and read-only.

With --auth chap or mutual-chap the secret of the user is read from a file, or from standard input with -. A target that
is already connected stays connected, whatever the credentials.`
	c.Example = "  csi-proxyctl iscsi login 192.0.2.10 iqn.2026-01.example:data --auth chap --user csi-user " +
		"--password-file -"
	request := &iscsiapi.ConnectTargetRequest{}
	auth := c.Flags().String("auth", "none",
		"`how` the node and the target authenticate themselves: none, chap or mutual-chap")
	c.Flags().StringVar(&request.ChapUsername, "user", "", "CHAP user `name` (default: the node's initiator name)")
	secret := passwordFlag(c, "`file` with the CHAP secret, 12 to 16 bytes; -: standard input")
	complete(c, "auth", "none", "chap", "mutual-chap")
	c.RunE = func(c *cobra.Command, args []string) (err error) {
		types := map[string]iscsiapi.AuthenticationType{"none": iscsiapi.AuthenticationType_NONE,
			"chap": iscsiapi.AuthenticationType_ONE_WAY_CHAP, "mutual-chap": iscsiapi.AuthenticationType_MUTUAL_CHAP}
		kind, ok := types[*auth]
		if !ok {
			return fmt.Errorf("--auth %q is unknown; use none, chap or mutual-chap", *auth)
		}
		if chap := *auth != "none"; chap != c.Flags().Changed("password-file") {
			return fmt.Errorf("--auth chap and mutual-chap need --password-file, and nothing else takes it; --auth is %s", *auth)
		} else if chap {
			if request.ChapSecret, err = secret(); err != nil {
				return err
			}
		}
		request.TargetPortal, request.Iqn, request.AuthType = portalOf(args), args[1], kind
		return a.runStorage(c, args, func(ctx context.Context, client *csiproxy.Client, _ []string) (answer, error) {
			return done(client.ISCSI.ConnectTarget(ctx, request))
		})
	}
	return change(c)
}

// sessionRow is a login to a target.
type sessionRow struct {
	Target    string `json:"target"`
	Connected bool   `json:"connected"`
}

// listSessions lists the sessions, which only the admin endpoint knows.
func listSessions(ctx context.Context, client *adminclient.Client, _ []string) (answer, error) {
	r, err := client.Inspect(ctx, &admin.InspectRequest{})
	if err := partOf(r, "iSCSI sessions", err); err != nil {
		return answer{}, err
	}
	list, rows := []sessionRow{}, []string{"TARGET\tCONNECTED"}
	for _, s := range r.GetIscsiSessions() {
		list = append(list, sessionRow{s.GetTarget(), s.GetConnected()})
		rows = append(rows, s.GetTarget()+"\t"+yesText(s.GetConnected()))
	}
	return answer{value: map[string]any{"sessions": list}, rows: rows}, nil
}

func mutualSecretCommand(a *connection) *cobra.Command {
	c := a.command("mutual-secret",
		"Set the secret with which targets authenticate themselves to this node; all targets share it")
	secret := passwordFlag(c, "`file` with the secret, 12 to 16 bytes; -: standard input")
	required(c, "password-file")
	c.RunE = func(c *cobra.Command, args []string) error {
		text, err := secret()
		if err != nil {
			return err
		}
		return a.runStorage(c, args, func(ctx context.Context, client *csiproxy.Client, _ []string) (answer, error) {
			return done(client.ISCSI.SetMutualChapSecret(ctx, &iscsiapi.SetMutualChapSecretRequest{MutualChapSecret: text}))
		})
	}
	return change(c)
}
