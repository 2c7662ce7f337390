// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

const (
	openTarget = "iqn.2026-01.emulated:open"
	chapTarget = "iqn.2026-01.emulated:chap"
)

// address is where a storage system answers.
type address struct {
	Name string
	Port uint32
}

func (a address) String() string { return fmt.Sprintf("%s:%d", a.Name, a.Port) }

// array returns the storage system of the default scenario, at the default port.
func array() address { return address{"192.0.2.10", 0} }

func (d *driver) addPortal() error {
	d.t.Helper()
	return d.do("AddTargetPortal", values{portal: d.array})
}

func (d *driver) removePortal() error {
	d.t.Helper()
	return d.do("RemoveTargetPortal", values{portal: d.array})
}

func (d *driver) discover() []string {
	d.t.Helper()
	return d.texts("DiscoverTargetPortal", values{portal: d.array}, targets)
}

// portals returns the addresses that are registered.
func (d *driver) portals() (found []address) {
	d.t.Helper()
	list := ask[protoreflect.List](d, "ListTargetPortals", nil, portals)
	for i := range list.Len() {
		m := list.Get(i).Message()
		fields := m.Descriptor().Fields()
		found = append(found, address{m.Get(fields.ByName("target_address")).String(),
			uint32(m.Get(fields.ByName("target_port")).Uint())})
	}
	return found
}

func (d *driver) connect(name string) error {
	d.t.Helper()
	return d.do("ConnectTarget", values{portal: d.array, target: name})
}

func (d *driver) connectWith(name, as, with string) error {
	d.t.Helper()
	return d.do("ConnectTarget", values{portal: d.array, target: name, auth: uint32(1), chapUser: as, chapSecret: with})
}

func (d *driver) disconnect(name string) error {
	d.t.Helper()
	return d.do("DisconnectTarget", values{portal: d.array, target: name})
}

func (d *driver) targetDisks(name string) []string {
	d.t.Helper()
	return d.texts("GetTargetDisks", values{portal: d.array, target: name}, ids)
}

// discovered registers the portal and returns its targets.
func (d *driver) discovered() {
	d.t.Helper()
	caller.OK(d.t, d.addPortal())
	d.discover()
}

// forget removes what a part of the test has left.
func (d *driver) forget() {
	d.t.Helper()
	d.node.Faults.Release()
	for _, name := range []string{openTarget, chapTarget} {
		caller.OK(d.t, d.disconnect(name))
	}
	caller.OK(d.t, d.removePortal())
}

func targetScenarios() map[string]scenario {
	all := map[string]scenario{
		"AddTargetPortal": {
			success: func(d *driver) {
				caller.OK(d.t, d.addPortal())
				same(d.t, d.portals(), []address{{"192.0.2.10", 3260}})
			},
			failure: func(d *driver) { initiatorFails(d, "AddISCSISendTargetPortal", d.addPortal) },
		},
		"ListTargetPortals": {
			success: func(d *driver) {
				same(d.t, len(d.portals()), 0)
				caller.OK(d.t, d.addPortal())
				same(d.t, d.portals(), []address{{"192.0.2.10", 3260}})
			},
			failure: func(d *driver) {
				initiatorFails(d, "ReportISCSISendTargetPortals", func() error { return d.do("ListTargetPortals", nil) })
			},
		},
		"DiscoverTargetPortal": {
			success: func(d *driver) {
				caller.OK(d.t, d.addPortal())
				got := d.discover()
				slices.Sort(got)
				same(d.t, got, []string{chapTarget, "iqn.2026-01.emulated:mutual", openTarget})
			},
			failure: func(d *driver) {
				d.fails("a portal that is not registered", codes.NotFound, "DiscoverTargetPortal", values{portal: d.array})
			},
		},
		"RemoveTargetPortal": {
			success: func(d *driver) {
				caller.OK(d.t, d.addPortal())
				caller.OK(d.t, d.removePortal())
				same(d.t, len(d.portals()), 0)
			},
			failure: func(d *driver) {
				caller.OK(d.t, d.addPortal())
				initiatorFails(d, "RemoveISCSISendTargetPortal", d.removePortal)
			},
		},
		"ConnectTarget": {
			success: func(d *driver) {
				d.discovered()
				caller.OK(d.t, d.connect(openTarget))
				caller.OK(d.t, d.connectWith(chapTarget, "csi-user", "chap-secret-123"))
				for _, name := range []string{openTarget, chapTarget} {
					same(d.t, d.treeOf(diskNumber(d.t, d.targetDisks(name)[0])).SizeBytes, int64(5*gib))
				}
			},
			failure: func(d *driver) {
				wantCode(d.t, "before the discovery", d.connect(openTarget), codes.NotFound)
			},
		},
		"DisconnectTarget": {
			success: func(d *driver) {
				d.discovered()
				before := len(d.tree().Disks)
				caller.OK(d.t, d.connect(openTarget))
				same(d.t, len(d.tree().Disks), before+1)
				caller.OK(d.t, d.disconnect(openTarget))
				same(d.t, len(d.tree().Disks), before)
			},
			failure: func(d *driver) {
				d.discovered()
				caller.OK(d.t, d.connect(openTarget))
				d.node.Faults.Add(testnode.Fault{Function: "LogoutISCSITarget", Times: 1,
					Error: win32.ISDSC_RESTRICTED_BY_GROUP_POLICY})
				wantCode(d.t, "a group policy", d.disconnect(openTarget), codes.FailedPrecondition)
			},
		},
		"GetTargetDisks": {
			success: func(d *driver) {
				d.discovered()
				same(d.t, len(d.targetDisks(openTarget)), 0) // without a session: no failure
				caller.OK(d.t, d.connect(openTarget))
				same(d.t, d.targetDisks(openTarget), []string{"3"})
			},
			failure: func(d *driver) {
				initiatorFails(d, "ISCSISessionList",
					func() error { return d.do("GetTargetDisks", values{portal: d.array, target: openTarget}) })
			},
		},
		"SetMutualChapSecret": {
			success: func(d *driver) {
				caller.OK(d.t, d.do("SetMutualChapSecret", values{mutualSecret: "mutual-secret1"}))
				d.discovered()
				v := values{portal: d.array, target: "iqn.2026-01.emulated:mutual", auth: uint32(2), chapUser: "csi-user",
					chapSecret: "chap-secret-123"}
				caller.OK(d.t, d.do("ConnectTarget", v))
				caller.OK(d.t, d.disconnect("iqn.2026-01.emulated:mutual"))
			},
			failure: func(d *driver) {
				wantCode(d.t, "too short", d.do("SetMutualChapSecret", values{mutualSecret: "eleven-byte"}), codes.InvalidArgument)
				initiatorFails(d, "SetISCSIInitiatorCHAPSharedSecret",
					func() error { return d.do("SetMutualChapSecret", values{mutualSecret: "mutual-secret1"}) })
			},
		},
	}
	for operation, s := range all {
		all[operation] = scenario{thenForget(s.success), thenForget(s.failure)}
	}
	return all
}

func thenForget(part func(*driver)) func(*driver) {
	return func(d *driver) {
		part(d)
		d.forget()
	}
}

// initiatorFails asserts how a failing call of the initiator is reported.
func initiatorFails(d *driver, function string, do func() error) {
	d.t.Helper()
	d.node.Faults.Add(testnode.Fault{Function: function, Error: win32.ERROR_ACCESS_DENIED})
	wantCode(d.t, "a failing "+function, do(), codes.PermissionDenied)
}
