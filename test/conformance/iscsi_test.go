// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
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

func (d *driver) texts(operation string, v values, what meaning) (found []string, err error) {
	d.t.Helper()
	list, err := ask[protoreflect.List](d, operation, v, what)
	if err != nil {
		return nil, err
	}
	for i := range list.Len() {
		found = append(found, list.Get(i).String())
	}
	return found, nil
}

func (d *driver) addPortal() error {
	d.t.Helper()
	return d.do("AddTargetPortal", values{portal: d.array})
}

func (d *driver) removePortal() error {
	d.t.Helper()
	return d.do("RemoveTargetPortal", values{portal: d.array})
}

func (d *driver) discover() ([]string, error) {
	d.t.Helper()
	return d.texts("DiscoverTargetPortal", values{portal: d.array}, targets)
}

// portals returns the addresses that are registered.
func (d *driver) portals() ([]address, error) {
	d.t.Helper()
	list, err := ask[protoreflect.List](d, "ListTargetPortals", nil, portals)
	if err != nil {
		return nil, err
	}
	var found []address
	for i := range list.Len() {
		m := list.Get(i).Message()
		fields := m.Descriptor().Fields()
		found = append(found, address{m.Get(fields.ByName("target_address")).String(),
			uint32(m.Get(fields.ByName("target_port")).Uint())})
	}
	return found, nil
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

func (d *driver) targetDisks(name string) ([]string, error) {
	d.t.Helper()
	return d.texts("GetTargetDisks", values{portal: d.array, target: name}, ids)
}

// discovered registers the portal and returns its targets.
func (d *driver) discovered() {
	d.t.Helper()
	noError(d.t, d.addPortal())
	_, err := d.discover()
	noError(d.t, err)
}

// forget removes what a part of the test has left.
func (d *driver) forget() {
	d.t.Helper()
	d.node.Faults.Release()
	for _, name := range []string{openTarget, chapTarget} {
		noError(d.t, d.disconnect(name))
	}
	noError(d.t, d.removePortal())
}

func targetScenarios() map[string]scenario {
	all := map[string]scenario{
		"AddTargetPortal": {
			success: func(d *driver) {
				noError(d.t, d.addPortal())
				got, err := d.portals()
				noError(d.t, err)
				same(d.t, got, []address{{"192.0.2.10", 3260}})
			},
			repeat:  func(d *driver) { unchanged(d, (*driver).addPortal) },
			failure: func(d *driver) { initiatorFails(d, "AddISCSISendTargetPortal", d.addPortal) },
		},
		"ListTargetPortals": {
			success: func(d *driver) {
				got, err := d.portals()
				noError(d.t, err)
				same(d.t, len(got), 0)
				noError(d.t, d.addPortal())
				got, err = d.portals()
				noError(d.t, err)
				same(d.t, got, []address{{"192.0.2.10", 3260}})
			},
			repeat: func(d *driver) {
				noError(d.t, d.addPortal())
				twice(d, func(d *driver) (int, error) { got, err := d.portals(); return len(got), err })
			},
			failure: func(d *driver) {
				initiatorFails(d, "ReportISCSISendTargetPortals", func() error { _, err := d.portals(); return err })
			},
		},
		"DiscoverTargetPortal": {
			success: func(d *driver) {
				noError(d.t, d.addPortal())
				got, err := d.discover()
				noError(d.t, err)
				slices.Sort(got)
				same(d.t, got, []string{chapTarget, "iqn.2026-01.emulated:mutual", openTarget})
			},
			repeat: func(d *driver) {
				d.discovered()
				twice(d, (*driver).discover)
			},
			failure: func(d *driver) {
				_, err := d.discover()
				wantCode(d.t, "a portal that is not registered", err, codes.NotFound)
			},
		},
		"RemoveTargetPortal": {
			success: func(d *driver) {
				noError(d.t, d.addPortal())
				noError(d.t, d.removePortal())
				got, err := d.portals()
				noError(d.t, err)
				same(d.t, len(got), 0)
			},
			repeat: func(d *driver) {
				noError(d.t, d.addPortal())
				unchanged(d, (*driver).removePortal)
			},
			failure: func(d *driver) {
				noError(d.t, d.addPortal())
				initiatorFails(d, "RemoveISCSISendTargetPortal", d.removePortal)
			},
		},
		"ConnectTarget": {
			success: func(d *driver) {
				d.discovered()
				noError(d.t, d.connect(openTarget))
				noError(d.t, d.connectWith(chapTarget, "csi-user", "chap-secret-123"))
				for _, name := range []string{openTarget, chapTarget} {
					disks, err := d.targetDisks(name)
					noError(d.t, err)
					same(d.t, d.treeOf(diskNumber(d.t, disks[0])).GetSizeBytes(), int64(5*gib))
				}
			},
			repeat: func(d *driver) {
				d.discovered()
				unchanged(d, func(d *driver) error { return d.connect(openTarget) })
			},
			failure: func(d *driver) {
				wantCode(d.t, "before the discovery", d.connect(openTarget), codes.NotFound)
				d.discovered()
				wantCode(d.t, "without CHAP", d.connect(chapTarget), codes.Unauthenticated)
				wantCode(d.t, "a wrong secret", d.connectWith(chapTarget, "csi-user", "chap-secret-124"), codes.Unauthenticated)
				wantCode(d.t, "an authentication that there is not",
					d.do("ConnectTarget", values{portal: d.array, target: openTarget, auth: uint32(7)}), codes.InvalidArgument)
			},
		},
		"DisconnectTarget": {
			success: func(d *driver) {
				d.discovered()
				before := len(d.tree().GetDisks())
				noError(d.t, d.connect(openTarget))
				same(d.t, len(d.tree().GetDisks()), before+1)
				noError(d.t, d.disconnect(openTarget))
				same(d.t, len(d.tree().GetDisks()), before)
			},
			repeat: func(d *driver) {
				d.discovered()
				noError(d.t, d.connect(openTarget))
				unchanged(d, func(d *driver) error { return d.disconnect(openTarget) })
			},
			failure: func(d *driver) {
				d.discovered()
				noError(d.t, d.connect(openTarget))
				d.node.Faults.Add(testnode.Fault{Function: "LogoutISCSITarget", Times: 1,
					Error: win32.ISDSC_RESTRICTED_BY_GROUP_POLICY})
				wantCode(d.t, "a group policy", d.disconnect(openTarget), codes.FailedPrecondition)
			},
		},
		"GetTargetDisks": {
			success: func(d *driver) {
				d.discovered()
				got, err := d.targetDisks(openTarget) // without a session: no disks, and no failure
				noError(d.t, err)
				same(d.t, len(got), 0)
				noError(d.t, d.connect(openTarget))
				got, err = d.targetDisks(openTarget)
				noError(d.t, err)
				same(d.t, got, []string{"3"})
			},
			repeat: func(d *driver) {
				d.discovered()
				noError(d.t, d.connect(openTarget))
				twice(d, func(d *driver) ([]string, error) { return d.targetDisks(openTarget) })
			},
			failure: func(d *driver) {
				initiatorFails(d, "ISCSISessionList", func() error { _, err := d.targetDisks(openTarget); return err })
			},
		},
		"SetMutualChapSecret": {
			success: func(d *driver) {
				noError(d.t, d.do("SetMutualChapSecret", values{mutualSecret: "mutual-secret1"}))
				d.discovered()
				v := values{portal: d.array, target: "iqn.2026-01.emulated:mutual", auth: uint32(2), chapUser: "csi-user",
					chapSecret: "chap-secret-123"}
				noError(d.t, d.do("ConnectTarget", v))
				noError(d.t, d.disconnect("iqn.2026-01.emulated:mutual"))
			},
			repeat: func(d *driver) {
				unchanged(d, func(d *driver) error { return d.do("SetMutualChapSecret", values{mutualSecret: "mutual-secret1"}) })
			},
			failure: func(d *driver) {
				wantCode(d.t, "too short", d.do("SetMutualChapSecret", values{mutualSecret: "eleven-byte"}), codes.InvalidArgument)
				initiatorFails(d, "SetISCSIInitiatorCHAPSharedSecret",
					func() error { return d.do("SetMutualChapSecret", values{mutualSecret: "mutual-secret1"}) })
			},
		},
	}
	for operation, s := range all {
		all[operation] = scenario{thenForget(s.success), thenForget(s.repeat), thenForget(s.failure)}
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
