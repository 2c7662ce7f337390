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
