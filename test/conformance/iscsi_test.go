// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"

	"google.golang.org/protobuf/reflect/protoreflect"
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
