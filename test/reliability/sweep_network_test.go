// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"errors"

	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

func smbExamples() []swept {
	const shareLink = plugins + `\share`
	mapLinked := mapShare(caller.Share, shareLink, caller.Password)
	mapped := mustDo(mapShare(caller.Share, "", caller.Password))
	return []swept{
		{method: "Smb/NewSmbGlobalMapping", when: "with a local path", call: mapLinked, retry: func(w *world) error {
			// Drivers remove what an interrupted attempt at staging left, unless it is the link.
			if is, err := w.IsSymlink(shareLink); err != nil || !is {
				if err := rmdir(shareLink, true)(w); err != nil {
					return err
				}
			}
			return mapLinked(w)
		}},
		{method: "Smb/NewSmbGlobalMapping", when: "mapped already", prepare: mapped,
			call: mapShare(caller.Share, "", caller.Password)},
		{method: "Smb/NewSmbGlobalMapping", when: "another share of the server is mapped",
			prepare: mustDo(mapShare(caller.OtherShare, "", caller.Password)),
			call:    mapShare(caller.Share, "", caller.Password)},
		{method: "Smb/NewSmbGlobalMapping", when: "the password was changed", prepare: func(w *world) {
			mapped(w)
			w.OK(w.emulated.SetSMBPassword("csi", "new-password"))
		}, call: mapShare(caller.Share, "", "new-password")},
		{method: "Smb/RemoveSmbGlobalMapping", when: "mapped, another share too", prepare: func(w *world) {
			mapped(w)
			w.OK(mapShare(caller.OtherShare, "", caller.Password)(w))
		}, call: func(w *world) error { return w.RemoveSmbGlobalMapping(caller.Share) }},
	}
}

func mapShare(remote, local, password string) func(*world) error {
	return func(w *world) error { return w.NewSmbGlobalMapping(remote, local, `EMULATED\csi`, password) }
}

func iscsiExamples() []swept {
	const target = caller.CHAPTarget
	add := func(w *world) error { return w.AddTargetPortal(caller.Array) }
	discover := func(w *world) error { _, err := w.DiscoverTargetPortal(caller.Array); return err }
	// The effect of a login is complete when its disks have come.
	connected := func(w *world) error {
		err := w.ConnectTargetAs(target, iscsiapi.AuthenticationType_ONE_WAY_CHAP, caller.CHAPUser, caller.CHAPSecret)
		disks, failed := w.GetTargetDisks(target)
		if failed == nil && len(disks) != 1 {
			failed = errors.New("the target's disk has not come")
		}
		return errors.Join(err, failed)
	}
	registered := mustDo(add)
	discovered := func(w *world) { registered(w); w.OK(discover(w)) }
	inUse := func(w *world) { discovered(w); w.OK(connected(w)) }
	return []swept{
		{method: "Iscsi/AddTargetPortal", when: "unknown", call: add},
		{method: "Iscsi/DiscoverTargetPortal", when: "three targets", prepare: registered, call: discover},
		{method: "Iscsi/RemoveTargetPortal", when: "registered", prepare: registered,
			call: func(w *world) error { return w.RemoveTargetPortal(caller.Array) }},
		{method: "Iscsi/ConnectTarget", when: "no session", prepare: discovered, call: connected},
		{method: "Iscsi/ConnectTarget", when: "connected already", prepare: inUse, call: connected},
		{method: "Iscsi/DisconnectTarget", when: "connected", prepare: inUse,
			call: func(w *world) error { return w.DisconnectTarget(target) }},
		{method: "Iscsi/SetMutualChapSecret", when: "unset",
			call: func(w *world) error { return w.SetMutualChapSecret("mutual-secret1") }},
	}
}

func systemExamples() []swept {
	stop := func(name string, force bool) func(*world) error {
		return func(w *world) error { return w.StopService(name, force) }
	}
	return []swept{
		{method: "System/StartService", when: "stopped",
			call: func(w *world) error { return w.StartService("Spooler") }},
		{method: "System/StopService", when: "running", call: stop("W32Time", false)},
		{method: "System/StopService", when: "force, with a running dependent", call: stop("MSiSCSI", true)},
	}
}
