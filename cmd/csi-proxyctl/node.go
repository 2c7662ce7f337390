// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/adminclient"
)

func nodeCommand(a *connection) *cobra.Command {
	path := a.admin(a.command("path", "Print where on this host a path of the node is", "WINPATH"),
		func(ctx context.Context, client *adminclient.Client, args []string) (answer, error) {
			r, err := client.GetPath(ctx, &admin.GetPathRequest{WindowsPath: args[0]})
			return shown(r, err, r.GetHostPath())
		})
	path.Long = path.Short + ". Links and mount points are followed; the last component may be missing."
	save := a.command("save", "Copy the node, with its disks and their files, into a new directory", "DIR")
	save.Long = save.Short + `: a state directory, with which an
agent goes on as after the death of this one. It holds the node's secrets, and is for its user alone.`
	save.Example = "  csi-proxyctl node save --clone /tmp/twin && csi-proxy-emulated -state-dir=/tmp/twin"
	clone := save.Flags().Bool("clone", false, "the copy is another machine, with a serial number of its own")
	restore := a.command("restore", "Make the node what was saved in a directory", "DIR")
	restore.Long = restore.Short + `, which stays as it is. Calls are cut off as by a
reboot, and all that the node had is gone, its detached disks too.`
	return group("node", "Do to an emulated node what hardware, a cloud or a person does to a real one",
		diskCommand(a), smbCommand(a), iscsiCommand(a), serviceCommand(a), faultCommand(a), path,
		a.admin(a.command("readlink", "Print the target of a link or mount point", "WINPATH"),
			func(ctx context.Context, client *adminclient.Client, args []string) (answer, error) {
				r, err := client.Readlink(ctx, &admin.ReadlinkRequest{WindowsPath: args[0]})
				return shown(r, err, r.GetTarget())
			}),
		change(a.admin(a.command("reboot", "Reboot the node; returns when the agent serves it again"),
			func(ctx context.Context, client *adminclient.Client, _ []string) (answer, error) {
				return done(client.Reboot(ctx, &admin.RebootRequest{}))
			})),
		change(a.admin(save, func(ctx context.Context, client *adminclient.Client, args []string) (answer, error) {
			dir, err := absolute(args[0])
			if err != nil {
				return answer{}, err
			}
			return done(client.SaveNode(ctx, &admin.SaveNodeRequest{Directory: dir, Clone: *clone}))
		})),
		change(a.admin(restore, func(ctx context.Context, client *adminclient.Client, args []string) (answer, error) {
			dir, err := absolute(args[0])
			if err != nil {
				return answer{}, err
			}
			return done(client.RestoreNode(ctx, &admin.RestoreNodeRequest{Directory: dir}))
		})),
	)
}

// absolute returns the absolute form of a path for the agent, which has its own current directory. An empty path stays
// empty.
func absolute(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	return filepath.Abs(path)
}

func smbCommand(a *connection) *cobra.Command {
	return group("smb", "Change file servers, their shares and accounts, and drop sessions",
		a.admin(a.command("list", "List the file servers with their shares"), listServers),
		passwordCommand(a, "set-password", "Change the password of an account; sessions with the old one are refused at once",
			nil, func(ctx context.Context, client *adminclient.Client, user, password string) (answer, error) {
				return done(client.SetSMBPassword(ctx, &admin.SetSMBPasswordRequest{User: user, Password: password}))
			}),
		change(a.admin(a.command("stop", "Stop a file server; files that are open there are lost", "SERVER"), runs(false))),
		change(a.admin(a.command("start", "Start a file server again", "SERVER"), runs(true))),
		change(a.admin(a.command("drop", "Let a file server close the node's sessions; files that are open there are lost",
			"SERVER"), func(ctx context.Context, client *adminclient.Client, args []string) (answer, error) {
			return done(client.DropSMBSessions(ctx, &admin.DropSMBSessionsRequest{Server: args[0]}))
		})),
		addShareCommand(a),
		change(a.admin(a.command("remove-share", "Remove a share; its files are kept", "SERVER", "SHARE"),
			func(ctx context.Context, client *adminclient.Client, args []string) (answer, error) {
				return done(client.RemoveSMBShare(ctx, &admin.RemoveSMBShareRequest{Server: args[0], Share: args[1]}))
			})),
		addUserCommand(a),
		change(a.admin(a.command("remove-user", "Remove an account; its sessions are refused at once", "USER"),
			func(ctx context.Context, client *adminclient.Client, args []string) (answer, error) {
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

func runs(running bool) adminCall {
	return func(ctx context.Context, client *adminclient.Client, args []string) (answer, error) {
		return done(client.SetSMBServerState(ctx, &admin.SetSMBServerStateRequest{Server: args[0], Running: running}))
	}
}

func addShareCommand(a *connection) *cobra.Command {
	c := a.command("add-share", "Add a share to a file server, which is made if it does not exist", "SERVER", "SHARE")
	users := c.Flags().StringArray("user", nil, "`account` that may use it; may be repeated (default: all)")
	return change(a.admin(c, func(ctx context.Context, client *adminclient.Client, args []string) (answer, error) {
		return done(client.AddSMBShare(ctx, &admin.AddSMBShareRequest{Server: args[0], Share: args[1], Users: *users}))
	}))
}

func addUserCommand(a *connection) *cobra.Command {
	var domains []string
	return passwordCommand(a, "add-user", "Add an account, which all file servers know", &domains,
		func(ctx context.Context, client *adminclient.Client, user, password string) (answer, error) {
			return done(client.AddSMBUser(ctx, &admin.AddSMBUserRequest{User: user, Domains: domains, Password: password}))
		})
}

// passwordCommand makes a command that needs a user, who may have domains, and a password.
func passwordCommand(a *connection, name, short string, domains *[]string,
	call func(ctx context.Context, client *adminclient.Client, user, password string) (answer, error)) *cobra.Command {
	c := a.command(name, short)
	c.Example = "  csi-proxyctl node smb " + name + " --user csi --password-file -"
	user := c.Flags().String("user", "", "`name` of the account")
	if domains != nil {
		c.Flags().StringArrayVar(domains, "domain", nil, "`domain` that may stand before the name; may be repeated")
	}
	read := passwordFlag(c, "`file` with the password, one line; -: standard input")
	required(c, "user", "password-file")
	c.RunE = func(c *cobra.Command, args []string) error {
		password, err := read()
		if err != nil {
			return err
		}
		return a.runAdmin(c, args, func(ctx context.Context, client *adminclient.Client, _ []string) (answer, error) {
			return call(ctx, client, *user, password)
		})
	}
	return change(c)
}

func iscsiCommand(a *connection) *cobra.Command {
	return group("iscsi", "Cut iSCSI portals off and connect them again, drop sessions",
		a.admin(a.command("list", "List the portals with their targets"), listStorage),
		change(a.admin(a.command("disconnect",
			"Cut a portal off; the disks of its sessions disappear after a minute of the node's clock", "PORTAL"),
			connects(false))),
		change(a.admin(a.command("connect",
			"Connect a portal again; the sessions and disks that were lost with it come back", "PORTAL"), connects(true))),
		change(a.admin(a.command("drop", "End the session with a target, even if its disks are in use", "TARGET"),
			func(ctx context.Context, client *adminclient.Client, args []string) (answer, error) {
				return done(client.DropISCSISession(ctx, &admin.DropISCSISessionRequest{Target: args[0]}))
			})))
}

func listStorage(ctx context.Context, client *adminclient.Client, _ []string) (answer, error) {
	r, err := client.ListNetwork(ctx, &admin.ListNetworkRequest{})
	rows := []string{"PORTAL\tCONNECTED\tTARGETS"}
	for _, p := range r.GetPortals() {
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s", portalText(p.GetAddress(), p.GetPort()), yesText(p.GetConnected()),
			orDash(strings.Join(p.GetTargets(), ", "))))
	}
	return answer{value: map[string]any{"portals": messages(r.GetPortals())}, rows: rows}, err
}

func connects(connected bool) adminCall {
	return func(ctx context.Context, client *adminclient.Client, args []string) (answer, error) {
		portal := portalOf(args)
		return done(client.SetISCSIPortalState(ctx, &admin.SetISCSIPortalStateRequest{Address: portal.GetTargetAddress(),
			Port: portal.GetTargetPort(), Connected: connected}))
	}
}
