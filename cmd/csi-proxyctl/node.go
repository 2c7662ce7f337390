// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
)

// adminPackage is the package of the admin endpoint's messages.
var adminPackage = admin.File_admin_v1alpha1_admin_proto.Package()

// nodeClient has the methods of an emulated node.
type nodeClient = admin.EmulatedNodeClient

func nodeCommand(a *connection) *cobra.Command {
	path := query(a, "path", "Print where on this host a path of the node is", nodeClient.GetPath, nil, "WINPATH")
	path.Long = path.Short + ". Links and mount points are followed; the last component may be missing."
	saved := &admin.SaveNodeRequest{}
	save := changeWith(a, "save", "Copy the node, with its disks and their files, into a new directory", saved,
		nodeClient.SaveNode, "DIR")
	save.Long = save.Short + `: a state directory, with which an
agent goes on as after the death of this one. It holds the node's secrets, and is for its user alone.`
	save.Example = "  csi-proxyctl node save --clone /tmp/twin && csi-proxy-emulated -state-dir=/tmp/twin"
	save.Flags().BoolVar(&saved.Clone, "clone", false, "the copy is another machine, with a serial number of its own")
	restore := change(a, "restore", "Make the node what was saved in a directory", nodeClient.RestoreNode, "DIR")
	restore.Long = restore.Short + `, which stays as it is. Calls are cut off as by a
reboot, and all that the node had is gone, its detached disks too.`
	return group("node", "Do to an emulated node what hardware, a cloud or a person does to a real one",
		diskCommand(a), smbCommand(a), iscsiCommand(a), serviceCommand(a), faultCommand(a), path,
		query(a, "readlink", "Print the target of a link or mount point", nodeClient.Readlink, nil, "WINPATH"),
		change(a, "reboot", "Reboot the node; returns when the agent serves it again", nodeClient.Reboot),
		save, restore)
}

func smbCommand(a *connection) *cobra.Command {
	password, user, share := &admin.SetSMBPasswordRequest{}, &admin.AddSMBUserRequest{}, &admin.AddSMBShareRequest{}
	setPassword := withAccount(changeWith(a, "set-password",
		"Change the password of an account; sessions with the old one are refused at once", password,
		nodeClient.SetSMBPassword), &password.User, &password.Password)
	addUser := withAccount(changeWith(a, "add-user", "Add an account, which all file servers know", user,
		nodeClient.AddSMBUser), &user.User, &user.Password)
	addUser.Flags().StringArrayVar(&user.Domains, "domain", nil,
		"`domain` that may stand before the name; may be repeated")
	addShare := changeWith(a, "add-share", "Add a share to a file server, which is made if it does not exist", share,
		nodeClient.AddSMBShare, "SERVER", "SHARE")
	addShare.Flags().StringArrayVar(&share.Users, "user", nil,
		"`account` that may use it; may be repeated (default: all)")
	return group("smb", "Change file servers, their shares and accounts, and drop sessions",
		query(a, "list", "List the file servers with their shares", nodeClient.ListNetwork, showServers),
		setPassword,
		change(a, "stop", "Stop a file server; files that are open there are lost", nodeClient.SetSMBServerState, "SERVER"),
		changeWith(a, "start", "Start a file server again", &admin.SetSMBServerStateRequest{Running: true},
			nodeClient.SetSMBServerState, "SERVER"),
		change(a, "drop", "Let a file server close the node's sessions; files that are open there are lost",
			nodeClient.DropSMBSessions, "SERVER"),
		addShare,
		change(a, "remove-share", "Remove a share; its files are kept", nodeClient.RemoveSMBShare, "SERVER", "SHARE"),
		addUser,
		change(a, "remove-user", "Remove an account; its sessions are refused at once", nodeClient.RemoveSMBUser, "USER"))
}

// withAccount gives a command flags for the name and the password of an account.
func withAccount(c *cobra.Command, user, password *string) *cobra.Command {
	c.Example = "  csi-proxyctl node smb " + c.Name() + " --user csi --password-file -"
	c.Flags().StringVar(user, "user", "", "`name` of the account")
	first(c, passwordFlag(c, "`file` with the password, one line; -: standard input", password))
	required(c, "user", "password-file")
	return c
}

func showServers(_ []string, r *admin.ListNetworkResponse) answer {
	rows := []string{"SERVER\tSTATE\tSHARES"}
	for _, s := range r.GetServers() {
		rows = append(rows, s.GetName()+"\t"+map[bool]string{true: "stopped", false: "running"}[s.GetStopped()]+"\t"+
			orDash(strings.Join(s.GetShares(), ", ")))
	}
	return answer{value: map[string]any{"servers": messages(r.GetServers())}, rows: rows}
}

func iscsiCommand(a *connection) *cobra.Command {
	return group("iscsi", "Cut iSCSI portals off and connect them again, drop sessions",
		query(a, "list", "List the portals with their targets", nodeClient.ListNetwork, showTargets),
		change(a, "disconnect", "Cut a portal off; the disks of its sessions disappear after a minute of the node's clock",
			nodeClient.SetISCSIPortalState, "PORTAL"),
		changeWith(a, "connect", "Connect a portal again; the sessions and disks that were lost with it come back",
			&admin.SetISCSIPortalStateRequest{Connected: true}, nodeClient.SetISCSIPortalState, "PORTAL"),
		change(a, "drop", "End the session with a target, even if its disks are in use", nodeClient.DropISCSISession,
			"TARGET"))
}

func showTargets(_ []string, r *admin.ListNetworkResponse) answer {
	rows := []string{"PORTAL\tCONNECTED\tTARGETS"}
	for _, p := range r.GetPortals() {
		rows = append(rows, fmt.Sprintf("%s\t%s\t%s", portalText(p.GetAddress(), p.GetPort()), yesText(p.GetConnected()),
			orDash(strings.Join(p.GetTargets(), ", "))))
	}
	return answer{value: map[string]any{"portals": messages(r.GetPortals())}, rows: rows}
}
