// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
)

func smbCommand(a *connection) *cobra.Command {
	return group("smb", "Change file servers, their shares and accounts, and drop sessions",
		a.admin(&cobra.Command{Use: "list", Short: "List the file servers with their shares"}, listServers),
		setPasswordCommand(a),
		smbServerCommand(a, "stop", "Stop a file server; files that are open there are lost", false),
		smbServerCommand(a, "start", "Start a file server again", true),
		change(a.admin(&cobra.Command{
			Use: "drop SERVER", Short: "Let a file server close the node's sessions; files that are open there are lost",
			Example: "  csi-proxyctl node smb drop fs.emulated",
		}, func(ctx context.Context, client *adminclient.Client, args []string) (answer, error) {
			return done(client.DropSMBSessions(ctx, &admin.DropSMBSessionsRequest{Server: args[0]}))
		})),
		addShareCommand(a),
		change(a.admin(&cobra.Command{
			Use: "remove-share SERVER SHARE", Short: "Remove a share; its files are kept",
			Example: "  csi-proxyctl node smb remove-share fs.emulated share",
		}, func(ctx context.Context, client *adminclient.Client, args []string) (answer, error) {
			return done(client.RemoveSMBShare(ctx, &admin.RemoveSMBShareRequest{Server: args[0], Share: args[1]}))
		})),
		addUserCommand(a),
		change(a.admin(&cobra.Command{
			Use: "remove-user USER", Short: "Remove an account; its sessions are refused at once",
			Example: "  csi-proxyctl node smb remove-user csi",
		}, func(ctx context.Context, client *adminclient.Client, args []string) (answer, error) {
			return done(client.RemoveSMBUser(ctx, &admin.RemoveSMBUserRequest{User: args[0]}))
		})))
}

func listServers(ctx context.Context, client *adminclient.Client, _ []string) (answer, error) {
	r, err := client.ListNetwork(ctx, &admin.ListNetworkRequest{})
	rows := []string{"SERVER\tSTATE\tSHARES"}
	for _, s := range r.GetServers() {
		rows = append(rows, s.GetName()+"\t"+map[bool]string{true: "stopped", false: "running"}[s.GetStopped()]+"\t"+orDash(
			strings.Join(s.GetShares(), ", ")))
	}
	return answer{value: map[string]any{"servers": messages(r.GetServers())}, rows: rows}, err
}

func smbServerCommand(a *connection, name, short string, running bool) *cobra.Command {
	return change(a.admin(&cobra.Command{Use: name + " SERVER", Short: short, Example: "  csi-proxyctl node smb " +
		name + " fs.emulated"},
		func(ctx context.Context, client *adminclient.Client, args []string) (answer, error) {
			return done(client.SetSMBServerState(ctx, &admin.SetSMBServerStateRequest{Server: args[0], Running: running}))
		}))
}

func addShareCommand(a *connection) *cobra.Command {
	c := &cobra.Command{
		Use: "add-share SERVER SHARE", Short: "Add a share to a file server, which is made if it does not exist",
		Example: "  csi-proxyctl node smb add-share fs.emulated backup --user csi",
	}
	users := c.Flags().StringArray("user", nil, "`account` that may use it; may be repeated (default: all)")
	return change(a.admin(c, func(ctx context.Context, client *adminclient.Client, args []string) (answer, error) {
		return done(client.AddSMBShare(ctx, &admin.AddSMBShareRequest{Server: args[0], Share: args[1], Users: *users}))
	}))
}

func setPasswordCommand(a *connection) *cobra.Command {
	c := &cobra.Command{
		Use:   "set-password --user USER --password-file FILE",
		Short: "Change the password of an account; sessions with the old one are refused at once",
		Long: `Change the password of an account; sessions with the old one are refused at once.

The password is read from a file, or from standard input with -, so that it is not in the list of processes. One line
end after it is not part of it.`,
		Example: "  csi-proxyctl node smb set-password --user csi --password-file -",
	}
	user := c.Flags().String("user", "", "`name` of the account, with or without a domain")
	return withPassword(a, c, "`file` with the new password; -: standard input",
		func(ctx context.Context, client *adminclient.Client, password string) (answer, error) {
			return done(client.SetSMBPassword(ctx, &admin.SetSMBPasswordRequest{User: *user, Password: password}))
		})
}

func addUserCommand(a *connection) *cobra.Command {
	c := &cobra.Command{
		Use:     "add-user --user USER --password-file FILE",
		Short:   "Add an account, which all file servers know",
		Example: "  csi-proxyctl node smb add-user --user alice --domain CORP --password-file -",
	}
	user := c.Flags().String("user", "", "`name` of the account, without a domain")
	domains := c.Flags().StringArray("domain", nil, "`domain` that may stand before the name; may be repeated")
	return withPassword(a, c, "`file` with the password, one line; -: standard input",
		func(ctx context.Context, client *adminclient.Client, password string) (answer, error) {
			return done(client.AddSMBUser(ctx, &admin.AddSMBUserRequest{User: *user, Domains: *domains, Password: password}))
		})
}

// withPassword makes a command that needs a user and a password.
func withPassword(a *connection, c *cobra.Command, usage string,
	call func(context.Context, *adminclient.Client, string) (answer, error)) *cobra.Command {
	read := passwordFlag(c, usage)
	required(c, "user", "password-file")
	c.RunE = func(c *cobra.Command, _ []string) error {
		password, err := read()
		if err != nil {
			return err
		}
		return a.runAdmin(c, func(ctx context.Context, client *adminclient.Client) (answer, error) {
			return call(ctx, client, password)
		})
	}
	return change(c)
}
