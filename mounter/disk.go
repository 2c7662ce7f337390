// SPDX-License-Identifier: Apache-2.0

package mounter

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	api "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// A Disk is one disk of the node, as drivers recognise it.
type Disk struct {
	Number       uint32 // changes when disks come and go
	SerialNumber string // as the disk reports it, trimmed
	Page83       string // the identifier of SCSI page 83h: text as it is, binary as lower-case hexadecimal digits
	Adapter      string // decimal, like the rest; all empty for a disk without such a location
	Bus          string
	Target       string
	LUN          string
}

// String returns the disk with its marks, for errors.
func (d Disk) String() string {
	marks := []string{strconv.FormatUint(uint64(d.Number), 10)}
	for _, mark := range []struct{ name, value string }{
		{"serial number", d.SerialNumber}, {"page 83h", d.Page83}, {"adapter", d.Adapter},
		{"target", d.Target}, {"LUN", d.LUN},
	} {
		if mark.value != "" {
			marks = append(marks, mark.name+" "+mark.value)
		}
	}
	return strings.Join(marks, " ")
}

// marks returns the marks that the agent compares before it changes the disk.
func (d Disk) marks() *api.DiskMarks {
	return &api.DiskMarks{SerialNumber: d.SerialNumber, Page83Id: d.Page83}
}

// Disks lists the disks of the node by number.
func (m *Mounter) Disks(ctx context.Context) ([]Disk, error) {
	ids, err := m.client.Disk.ListDiskIDs(ctx, &csiproxy.ListDiskIDsRequest{})
	if err != nil {
		return nil, err
	}
	places, err := m.client.Disk.ListDiskLocations(ctx, &csiproxy.ListDiskLocationsRequest{})
	if err != nil {
		return nil, err
	}
	found := map[uint32]Disk{}
	for number, id := range ids.GetDiskIDs() {
		found[number] = Disk{Number: number, SerialNumber: strings.TrimSpace(id.GetSerialNumber()), Page83: id.GetPage83()}
	}
	for number, at := range places.GetDiskLocations() {
		d := found[number]
		d.Number = number
		d.Adapter, d.Bus, d.Target, d.LUN = at.GetAdapter(), at.GetBus(), at.GetTarget(), at.GetLUNID()
		found[number] = d
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Disk) int { return cmp.Compare(a.Number, b.Number) }), nil
}
