// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"errors"

	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// ShareLink is where examples have a share.
const ShareLink = Plugins + `\share`

func smb() []Example {
	const newPassword = "new-password"
	mapOne, mapOther, mapLinked := Map(caller.Share, ""), Map(caller.OtherShare, ""), Map(caller.Share, ShareLink)
	giveUp := func(n *Node) error { return n.RemoveSmbGlobalMapping(caller.Share) }
	// Drivers remove what an interrupted attempt at staging left, unless it is the link.
	linkAgain := func(n *Node) error {
		if is, err := n.IsSymlink(ShareLink); err != nil || !is {
			if err := n.Rmdir(ShareLink, true); err != nil {
				return err
			}
		}
		return mapLinked(n)
	}
	return []Example{
		{Method: "smb/NewSmbGlobalMapping", When: "not mapped, without a local path", Call: mapOne},
		{Method: "smb/NewSmbGlobalMapping", When: "not mapped, with a local path", Call: mapLinked, Retry: linkAgain},
		{Method: "smb/NewSmbGlobalMapping", When: "mapped and linked already", Prepare: do(mapLinked), Call: mapLinked,
			Retry: linkAgain},
		{Method: "smb/NewSmbGlobalMapping", When: "another share of the server is mapped", Prepare: do(mapOther),
			Call: mapOne},
		{Method: "smb/NewSmbGlobalMapping", When: "mapped with a password that the server refuses by now",
			Prepare: func(n *Node) { n.OK(mapOne(n)); n.SetSMBPassword(caller.User, newPassword) },
			Call:    func(n *Node) error { return n.NewSmbGlobalMapping(caller.Share, "", caller.User, newPassword) }},
		{Method: "smb/NewSmbGlobalMapping", When: "beside a step", Prepare: do(stageShare), Call: mapOne, Shared: true},
		{Method: "smb/RemoveSmbGlobalMapping", When: "mapped", Prepare: do(mapOne), Call: giveUp},
		{Method: "smb/RemoveSmbGlobalMapping", When: "mapped, another share too", Prepare: do(mapOne, mapOther),
			Call: giveUp},
		{Method: "smb/RemoveSmbGlobalMapping", When: "beside a step", Prepare: do(stageShare, mapOne), Call: giveUp,
			Shared: true},
		{Method: "smb/RemoveSmbGlobalMapping", When: "not mapped", Call: giveUp},
	}
}

// Map maps a share; local: the path of the link to it, "" for none.
func Map(remote, local string) func(*Node) error {
	return func(n *Node) error { return n.Map(remote, local) }
}

func iscsi() []Example {
	const target = caller.CHAPTarget
	add := func(n *Node) error { return n.AddTargetPortal(caller.Array) }
	remove := func(n *Node) error { return n.RemoveTargetPortal(caller.Array) }
	discover := func(n *Node) error { _, err := n.DiscoverTargetPortal(caller.Array); return err }
	disks := func(n *Node) error { _, err := n.GetTargetDisks(target); return err }
	// The effect of a login is complete when its disks have come.
	connect := func(n *Node) error {
		err := n.ConnectTargetAs(target, iscsiapi.AuthenticationType_ONE_WAY_CHAP, caller.CHAPUser, caller.CHAPSecret)
		disks, failed := n.GetTargetDisks(target)
		if failed == nil && len(disks) != 1 {
			failed = errors.New("the target's disk has not come")
		}
		return errors.Join(err, failed)
	}
	disconnect := func(n *Node) error { return n.DisconnectTarget(target) }
	secret := func(n *Node) error { return n.SetMutualChapSecret("mutual-secret1") }
	registered, discovered, connected := do(add), do(add, discover), do(add, discover, connect)
	return []Example{
		{Method: "iscsi/AddTargetPortal", When: "unknown", Call: add},
		{Method: "iscsi/AddTargetPortal", When: "registered already", Prepare: registered, Call: add},
		{Method: "iscsi/DiscoverTargetPortal", When: "three targets", Prepare: registered, Call: discover},
		{Method: "iscsi/RemoveTargetPortal", When: "registered", Prepare: registered, Call: remove},
		{Method: "iscsi/RemoveTargetPortal", When: "unknown", Call: remove},
		{Method: "iscsi/ListTargetPortals", When: "one", Prepare: registered,
			Call: func(n *Node) error { _, err := n.ListTargetPortals(); return err }},
		{Method: "iscsi/ConnectTarget", When: "no session", Prepare: discovered, Call: connect},
		{Method: "iscsi/ConnectTarget", When: "connected already", Prepare: connected, Call: connect},
		{Method: "iscsi/DisconnectTarget", When: "connected", Prepare: connected, Call: disconnect},
		{Method: "iscsi/DisconnectTarget", When: "no session", Prepare: discovered, Call: disconnect},
		{Method: "iscsi/GetTargetDisks", When: "connected", Prepare: connected, Call: disks},
		{Method: "iscsi/GetTargetDisks", When: "no session", Prepare: discovered, Call: disks},
		{Method: "iscsi/SetMutualChapSecret", When: "unset", Call: secret},
		{Method: "iscsi/SetMutualChapSecret", When: "the same one", Prepare: do(secret), Call: secret},
	}
}

func system() []Example {
	start := func(n *Node) error { return n.StartService("Spooler") }
	stop := func(name string, force bool) func(*Node) error {
		return func(n *Node) error { return n.StopService(name, force) }
	}
	return []Example{
		{Method: "system/GetBIOSSerialNumber", When: "any node",
			Call: func(n *Node) error { _, err := n.GetBIOSSerialNumber(); return err }},
		{Method: "system/StartService", When: "stopped", Call: start},
		{Method: "system/StartService", When: "running already", Prepare: do(start), Call: start},
		{Method: "system/StopService", When: "running", Call: stop("W32Time", false)},
		{Method: "system/StopService", When: "stopped already", Call: stop("Spooler", false)},
		{Method: "system/StopService", When: "force: with a running dependent", Call: stop("MSiSCSI", true)},
		{Method: "system/GetService", When: "running",
			Call: func(n *Node) error { _, err := n.GetService("W32Time"); return err }},
	}
}
