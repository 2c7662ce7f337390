// SPDX-License-Identifier: Apache-2.0

package contract

import iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"

const calledTarget = "iqn.2026-01.emulated:open"

func iscsiVaries() map[string]string {
	return map[string]string{
		"ConnectTarget":    "with the number of sessions.",
		"DisconnectTarget": "with the number of sessions, persistent logins and disks.",
		"GetTargetDisks": "with the number of sessions and disks; after a login until the disks have their numbers, for " +
			"10 s at most.",
	}
}

func iscsiExamples() []kernelExample {
	portal := &iscsiapi.TargetPortal{TargetAddress: "192.0.2.10", TargetPort: 3260}
	add := func(w *exampleNode) error {
		_, err := w.ISCSI.AddTargetPortal(w.ctx, &iscsiapi.AddTargetPortalRequest{TargetPortal: portal})
		return err
	}
	discover := func(w *exampleNode) error {
		_, err := w.ISCSI.DiscoverTargetPortal(w.ctx, &iscsiapi.DiscoverTargetPortalRequest{TargetPortal: portal})
		return err
	}
	remove := func(w *exampleNode) error {
		_, err := w.ISCSI.RemoveTargetPortal(w.ctx, &iscsiapi.RemoveTargetPortalRequest{TargetPortal: portal})
		return err
	}
	connect := func(w *exampleNode) error {
		_, err := w.ISCSI.ConnectTarget(w.ctx, &iscsiapi.ConnectTargetRequest{TargetPortal: portal, Iqn: calledTarget})
		return err
	}
	disconnect := func(w *exampleNode) error {
		_, err := w.ISCSI.DisconnectTarget(w.ctx, &iscsiapi.DisconnectTargetRequest{TargetPortal: portal, Iqn: calledTarget})
		return err
	}
	disks := func(w *exampleNode) error {
		_, err := w.ISCSI.GetTargetDisks(w.ctx, &iscsiapi.GetTargetDisksRequest{TargetPortal: portal, Iqn: calledTarget})
		return err
	}
	secret := func(w *exampleNode) error {
		_, err := w.ISCSI.SetMutualChapSecret(w.ctx, &iscsiapi.SetMutualChapSecretRequest{MutualChapSecret: "mutual-secret1"})
		return err
	}
	registered := func(w *exampleNode) { w.must(add(w)) }
	discovered := func(w *exampleNode) { registered(w); w.must(discover(w)) }
	connected := func(w *exampleNode) { // and its disks have come
		discovered(w)
		w.must(connect(w))
		w.must(disks(w))
	}
	return []kernelExample{
		{"AddTargetPortal", "unknown", nil, add},
		{"AddTargetPortal", "registered already", registered, add},
		{"DiscoverTargetPortal", "three targets", registered, discover},
		{"RemoveTargetPortal", "registered", registered, remove},
		{"RemoveTargetPortal", "unknown", nil, remove},
		{"ListTargetPortals", "one", registered, func(w *exampleNode) error {
			_, err := w.ISCSI.ListTargetPortals(w.ctx, &iscsiapi.ListTargetPortalsRequest{})
			return err
		}},
		{"ConnectTarget", "no session", discovered, connect},
		{"ConnectTarget", "connected already", connected, connect},
		{"DisconnectTarget", "connected", connected, disconnect},
		{"DisconnectTarget", "no session", discovered, disconnect},
		{"GetTargetDisks", "connected", connected, disks},
		{"GetTargetDisks", "no session", discovered, disks},
		{"SetMutualChapSecret", "unset", nil, secret},
		{"SetMutualChapSecret", "the same one", func(w *exampleNode) { w.must(secret(w)) }, secret},
	}
}
