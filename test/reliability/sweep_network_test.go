// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"errors"

	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	smbapi "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	systemapi "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
)

const (
	share  = `\\fs.emulated\share`
	other  = `\\fs.emulated\other`
	target = "iqn.2026-01.emulated:chap"
)

func smbExamples() []swept {
	const shareLink = plugins + `\share`
	mapLinked := mapShare(share, shareLink, "csi-password")
	mapped := mustDo(mapShare(share, "", "csi-password"))
	return []swept{
		{method: "Smb/NewSmbGlobalMapping", when: "with a local path", call: mapLinked, retry: func(w *world) error {
			// Drivers remove what an interrupted attempt at staging left, unless it is the link.
			if is, err := w.Filesystem.IsSymlink(w.ctx, &filesystemapi.IsSymlinkRequest{Path: shareLink}); err != nil ||
				!is.GetIsSymlink() {
				if err := rmdir(shareLink, true)(w); err != nil {
					return err
				}
			}
			return mapLinked(w)
		}},
		{method: "Smb/NewSmbGlobalMapping", when: "mapped already", prepare: mapped,
			call: mapShare(share, "", "csi-password")},
		{method: "Smb/NewSmbGlobalMapping", when: "another share of the server is mapped",
			prepare: mustDo(mapShare(other, "", "csi-password")), call: mapShare(share, "", "csi-password")},
		{method: "Smb/NewSmbGlobalMapping", when: "the password was changed", prepare: func(w *world) {
			mapped(w)
			w.must(w.emulated.SetSMBPassword("csi", "new-password"))
		}, call: mapShare(share, "", "new-password")},
		{method: "Smb/RemoveSmbGlobalMapping", when: "mapped, another share too", prepare: func(w *world) {
			mapped(w)
			w.must(mapShare(other, "", "csi-password")(w))
		}, call: func(w *world) error {
			_, err := w.SMB.RemoveSmbGlobalMapping(w.ctx, &smbapi.RemoveSmbGlobalMappingRequest{RemotePath: share})
			return err
		}},
	}
}

func mapShare(remote, local, password string) func(*world) error {
	return func(w *world) error {
		_, err := w.SMB.NewSmbGlobalMapping(w.ctx, &smbapi.NewSmbGlobalMappingRequest{
			RemotePath: remote, LocalPath: local, Username: `EMULATED\csi`, Password: password,
		})
		return err
	}
}

func iscsiExamples() []swept {
	portal := &iscsiapi.TargetPortal{TargetAddress: "192.0.2.10", TargetPort: 3260}
	add := func(w *world) error {
		_, err := w.ISCSI.AddTargetPortal(w.ctx, &iscsiapi.AddTargetPortalRequest{TargetPortal: portal})
		return err
	}
	discover := func(w *world) error {
		_, err := w.ISCSI.DiscoverTargetPortal(w.ctx, &iscsiapi.DiscoverTargetPortalRequest{TargetPortal: portal})
		return err
	}
	connect := func(w *world) error {
		_, err := w.ISCSI.ConnectTarget(w.ctx, &iscsiapi.ConnectTargetRequest{
			TargetPortal: portal, Iqn: target, AuthType: iscsiapi.AuthenticationType_ONE_WAY_CHAP, ChapUsername: "csi-user",
			ChapSecret: "chap-secret-123",
		})
		return err
	}
	// The effect of a login is complete when its disks have come.
	disks := func(w *world) error {
		reply, err := w.ISCSI.GetTargetDisks(w.ctx, &iscsiapi.GetTargetDisksRequest{TargetPortal: portal, Iqn: target})
		if err == nil && len(reply.GetDiskIDs()) != 1 {
			err = errors.New("the target's disk has not come")
		}
		return err
	}
	connected := func(w *world) error { return errors.Join(connect(w), disks(w)) }
	registered := mustDo(add)
	discovered := func(w *world) { registered(w); w.must(discover(w)) }
	inUse := func(w *world) { discovered(w); w.must(connected(w)) }
	return []swept{
		{method: "Iscsi/AddTargetPortal", when: "unknown", call: add},
		{method: "Iscsi/DiscoverTargetPortal", when: "three targets", prepare: registered, call: discover},
		{method: "Iscsi/RemoveTargetPortal", when: "registered", prepare: registered, call: func(w *world) error {
			_, err := w.ISCSI.RemoveTargetPortal(w.ctx, &iscsiapi.RemoveTargetPortalRequest{TargetPortal: portal})
			return err
		}},
		{method: "Iscsi/ConnectTarget", when: "no session", prepare: discovered, call: connected},
		{method: "Iscsi/ConnectTarget", when: "connected already", prepare: inUse, call: connected},
		{method: "Iscsi/DisconnectTarget", when: "connected", prepare: inUse, call: func(w *world) error {
			_, err := w.ISCSI.DisconnectTarget(w.ctx, &iscsiapi.DisconnectTargetRequest{TargetPortal: portal, Iqn: target})
			return err
		}},
		{method: "Iscsi/SetMutualChapSecret", when: "unset", call: func(w *world) error {
			_, err := w.ISCSI.SetMutualChapSecret(w.ctx,
				&iscsiapi.SetMutualChapSecretRequest{MutualChapSecret: "mutual-secret1"})
			return err
		}},
	}
}

func systemExamples() []swept {
	start := func(w *world) error {
		_, err := w.System.StartService(w.ctx, &systemapi.StartServiceRequest{Name: "Spooler"})
		return err
	}
	stop := func(name string, force bool) func(*world) error {
		return func(w *world) error {
			_, err := w.System.StopService(w.ctx, &systemapi.StopServiceRequest{Name: name, Force: force})
			return err
		}
	}
	return []swept{
		{method: "System/StartService", when: "stopped", call: start},
		{method: "System/StopService", when: "running", call: stop("W32Time", false)},
		{method: "System/StopService", when: "force, with a running dependent", call: stop("MSiSCSI", true)},
	}
}
