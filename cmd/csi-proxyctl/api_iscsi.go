// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
)

func iscsiGroup(a *connection) *cobra.Command {
	c := group("iscsi", "Register iSCSI portals, log in to targets, find their disks",
		group("portal", "Register portals and ask them for targets",
			change(a, "add", "Register a portal; it survives reboots", iscsiapi.IscsiClient.AddTargetPortal, "PORTAL"),
			change(a, "remove", "Forget a portal; targets that are connected stay connected",
				iscsiapi.IscsiClient.RemoveTargetPortal, "PORTAL"),
			query(a, "list", "List the registered portals", iscsiapi.IscsiClient.ListTargetPortals, showPortals),
			query(a, "discover", "Ask a registered portal for its targets", iscsiapi.IscsiClient.DiscoverTargetPortal,
				func(_ []string, r *iscsiapi.DiscoverTargetPortalResponse) answer {
					return plainList("targets", r.GetIqns())
				},
				"PORTAL")),
		loginCommand(a),
		asks(change(a, "logout", "Log out of a target, for good", iscsiapi.IscsiClient.DisconnectTarget, "PORTAL", "TARGET"),
			"Its disks disappear. It is refused while a volume on one of them is mounted."),
		query(a, "disks", "Print the numbers of the disks that a target has given the node",
			iscsiapi.IscsiClient.GetTargetDisks,
			func(_ []string, r *iscsiapi.GetTargetDisksResponse) answer { return plainList("disks", r.GetDiskIDs()) },
			"PORTAL", "TARGET"),
		a.runs(a.command("sessions", "List the sessions with targets, also those that others made"), a.listSessions),
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

func showPortals(_ []string, r *iscsiapi.ListTargetPortalsResponse) answer {
	list, rows := []portalRow{}, []string{"ADDRESS\tPORT"}
	for _, p := range r.GetTargetPortals() {
		list = append(list, portalRow{p.GetTargetAddress(), p.GetTargetPort()})
		rows = append(rows, fmt.Sprintf("%s\t%d", p.GetTargetAddress(), p.GetTargetPort()))
	}
	return answer{value: map[string]any{"portals": list}, rows: rows}
}

func loginCommand(a *connection) *cobra.Command {
	request := &iscsiapi.ConnectTargetRequest{}
	c := changeWith(a, "login", "Log in to a target; its disks arrive offline and read-only", request,
		iscsiapi.IscsiClient.ConnectTarget, "PORTAL", "TARGET")
	c.Long = `Log in to a target that a discovery has found; its disks arrive offline and read-only.

With --auth chap or mutual-chap the secret of the user is read from a file, or from standard input with -. A target that
is already connected stays connected, whatever the credentials.`
	c.Example = "  csi-proxyctl iscsi login 192.0.2.10 iqn.2026-01.example:data --auth chap --user csi-user " +
		"--password-file -"
	auth := c.Flags().String("auth", "none",
		"`how` the node and the target authenticate themselves: none, chap or mutual-chap")
	c.Flags().StringVar(&request.ChapUsername, "user", "", "CHAP user `name` (default: the node's initiator name)")
	readSecret := passwordFlag(c, "`file` with the CHAP secret, 12 to 16 bytes; -: standard input", &request.ChapSecret)
	complete(c, "auth", "none", "chap", "mutual-chap")
	return first(c, func(args []string) error {
		types := map[string]iscsiapi.AuthenticationType{"none": iscsiapi.AuthenticationType_NONE,
			"chap": iscsiapi.AuthenticationType_ONE_WAY_CHAP, "mutual-chap": iscsiapi.AuthenticationType_MUTUAL_CHAP}
		var known bool
		if request.AuthType, known = types[*auth]; !known {
			return fmt.Errorf("--auth %q is unknown; use none, chap or mutual-chap", *auth)
		}
		chap := *auth != "none"
		if chap != c.Flags().Changed("password-file") {
			return fmt.Errorf("--auth chap and mutual-chap need --password-file, and nothing else takes it; --auth is %s", *auth)
		}
		if !chap {
			return nil
		}
		return readSecret(args)
	})
}

// sessionRow is a login to a target.
type sessionRow struct {
	Target    string `json:"target"`
	Connected bool   `json:"connected"`
}

// listSessions lists the sessions, which only the admin endpoint knows.
func (a *connection) listSessions(ctx context.Context, _ []string) (answer, error) {
	r, err := a.inspection(ctx, "iSCSI sessions")
	list, rows := []sessionRow{}, []string{"TARGET\tCONNECTED"}
	for _, s := range r.GetIscsiSessions() {
		list = append(list, sessionRow{s.GetTarget(), s.GetConnected()})
		rows = append(rows, s.GetTarget()+"\t"+yesText(s.GetConnected()))
	}
	return answer{value: map[string]any{"sessions": list}, rows: rows}, err
}

func mutualSecretCommand(a *connection) *cobra.Command {
	request := &iscsiapi.SetMutualChapSecretRequest{}
	c := changeWith(a, "mutual-secret",
		"Set the secret with which targets authenticate themselves to this node; all targets share it", request,
		iscsiapi.IscsiClient.SetMutualChapSecret)
	first(c, passwordFlag(c, "`file` with the secret, 12 to 16 bytes; -: standard input", &request.MutualChapSecret))
	required(c, "password-file")
	return c
}
