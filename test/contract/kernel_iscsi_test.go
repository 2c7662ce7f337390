// SPDX-License-Identifier: Apache-2.0

package contract

import "github.com/kubernetes-csi/csi-proxy/test/caller"

func iscsiVaries() map[string]string {
	return map[string]string{
		"ConnectTarget":    "with the number of sessions.",
		"DisconnectTarget": "with the number of sessions, persistent logins and disks.",
		"GetTargetDisks": "with the number of sessions and disks; after a login until the disks have their numbers, for " +
			"10 s at most.",
	}
}

func iscsiExamples() []kernelExample {
	add := func(w *exampleNode) error { return w.AddTargetPortal(caller.Array) }
	remove := func(w *exampleNode) error { return w.RemoveTargetPortal(caller.Array) }
	discover := func(w *exampleNode) error { _, err := w.DiscoverTargetPortal(caller.Array); return err }
	connect := func(w *exampleNode) error { return w.ConnectTarget(caller.OpenTarget) }
	disconnect := func(w *exampleNode) error { return w.DisconnectTarget(caller.OpenTarget) }
	disks := func(w *exampleNode) error { _, err := w.GetTargetDisks(caller.OpenTarget); return err }
	secret := func(w *exampleNode) error { return w.SetMutualChapSecret("mutual-secret1") }
	registered := func(w *exampleNode) { w.OK(add(w)) }
	discovered := func(w *exampleNode) { w.Discovered() }
	connected := func(w *exampleNode) { w.Connected() }
	return []kernelExample{
		{"AddTargetPortal", "unknown", nil, add},
		{"AddTargetPortal", "registered already", registered, add},
		{"DiscoverTargetPortal", "three targets", registered, discover},
		{"RemoveTargetPortal", "registered", registered, remove},
		{"RemoveTargetPortal", "unknown", nil, remove},
		{"ListTargetPortals", "one", registered, func(w *exampleNode) error { _, err := w.ListTargetPortals(); return err }},
		{"ConnectTarget", "no session", discovered, connect},
		{"ConnectTarget", "connected already", connected, connect},
		{"DisconnectTarget", "connected", connected, disconnect},
		{"DisconnectTarget", "no session", discovered, disconnect},
		{"GetTargetDisks", "connected", connected, disks},
		{"GetTargetDisks", "no session", discovered, disks},
		{"SetMutualChapSecret", "unset", nil, secret},
		{"SetMutualChapSecret", "the same one", func(w *exampleNode) { w.OK(secret(w)) }, secret},
	}
}
