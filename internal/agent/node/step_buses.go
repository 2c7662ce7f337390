// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// A storage server chooses the identifiers of its logical units, and so can claim to be any disk. A mark counts only on
// buses by which its owner attaches disks. docs/decisions/which-disks.md has the table.

// noISCSI is for marks that a storage system gives: a unit of an iSCSI target is named with its target.
func noISCSI(busType uint32) string {
	switch busType {
	case win32.BusTypeiScsi:
		return "name a disk on this bus by iscsi_disk"
	case busUnread:
		return "Windows did not tell the disk's bus"
	}
	return ""
}

// cloudsBuses is for marks that a cloud gives: no cloud attaches a disk of its own by these buses.
func cloudsBuses(busType uint32) string {
	switch busType {
	case win32.BusTypeFibre, win32.BusTypeUsb, win32.BusTypeFileBackedVirtual, win32.BusTypeSpaces:
		return "no cloud attaches disks by this bus; name the disk by serial_number or page83_id"
	}
	return noISCSI(busType)
}

// busUnread stands for the bus of a disk that does not report one. STORAGE_BUS_TYPE has no such value.
const busUnread = ^uint32(0)

// hasSerial reports whether a serial number is a disk's, whole and in upper or lower case. Windows' NVMe driver appends
// the namespace and a dot, vol0123456789abcdef0_00000001., if the namespace has no identifier of its own. Of a
// controller's namespaces, only the first counts without them: another would be the first's disk while that is late.
//
// Source: aws-ebs-csi-driver, FindDevicePath in pkg/mounter.
func hasSerial(d foundDisk, want string) bool {
	has := strings.TrimSpace(d.ids.SerialNumber)
	if strings.EqualFold(has, want) {
		return has != ""
	}
	const first = "_00000001."
	whole, ok := strings.CutSuffix(has, first)
	return ok && d.busType == win32.BusTypeNvme && whole != "" && strings.EqualFold(whole, want)
}

// elsewhere says of disks that have a mark on a bus where it does not count, "" for none.
func elsewhere(m match, disks []foundDisk) string {
	var text strings.Builder
	if m.instead == nil {
		return ""
	}
	for _, d := range disks {
		if why := m.instead(d.busType); m.fits(d) && why != "" {
			fmt.Fprintf(&text, "; disk %d (%s) has it and is not taken: %s", d.number, busTypeName(d.busType), why)
		}
	}
	return text.String()
}
