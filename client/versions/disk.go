// SPDX-License-Identifier: Apache-2.0

package versions

import (
	"strconv"

	hub "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	old "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1beta2"
)

// disk is the disk group. The string disk ids of v1alpha1 to v1beta2 became numbers in v1beta3. The messages of the
// three old versions have the same bytes where they have the same method, so those of v1beta2 serve for all.
func disk() Group {
	const strings = "v1alpha1 v1beta1 v1beta2"
	return Group{Name: "disk", Service: "Disk", Hub: "v1", Routes: append([]Route{
		{strings, "ListDiskLocations", Mapped, "ListDiskLocations", diskLocations()},
		{strings, "PartitionDisk", Mapped, "PartitionDisk", partitionDisk()},
		{strings, "Rescan", Same, "Rescan", nil},
		{"v1alpha1", "GetDiskNumberByName", Alone, "", nil}, // the hub has ListDiskIDs, which returns every disk's name
		{"v1beta1 v1beta2", "ListDiskIDs", Mapped, "ListDiskIDs", diskIDs()},
		{"v1beta1 v1beta2", "DiskStats", Mapped, "GetDiskStats", diskStats()},
		{"v1beta2", "SetAttachState", Mapped, "SetDiskState", setAttachState()},
		{"v1beta2", "GetAttachState", Mapped, "GetDiskState", getAttachState()},
	}, same("v1beta3",
		"ListDiskLocations PartitionDisk Rescan ListDiskIDs GetDiskStats SetDiskState GetDiskState")...)}
}

// diskNumber parses a string disk id: decimal digits that fit in 32 bits.
func diskNumber(field, id string, number *uint32) error {
	n, err := strconv.ParseUint(id, 10, 32)
	if err != nil {
		return &ArgumentError{Field: field, Value: id, Problem: "is not a disk number"}
	}
	*number = uint32(n)
	return nil
}

func diskID(number uint32) string { return strconv.FormatUint(uint64(number), 10) }

func diskLocations() *Mapping {
	return between(
		func(*old.ListDiskLocationsRequest, *hub.ListDiskLocationsRequest) error { return nil },
		func(h *hub.ListDiskLocationsResponse, o *old.ListDiskLocationsResponse) {
			o.DiskLocations = make(map[string]*old.DiskLocation, len(h.GetDiskLocations()))
			for number, l := range h.GetDiskLocations() {
				o.DiskLocations[diskID(number)] = &old.DiskLocation{Adapter: l.GetAdapter(), Bus: l.GetBus(),
					Target: l.GetTarget(), LUNID: l.GetLUNID()}
			}
		},
		func(*hub.ListDiskLocationsRequest, *old.ListDiskLocationsRequest) error { return nil },
		func(o *old.ListDiskLocationsResponse, h *hub.ListDiskLocationsResponse) error {
			h.DiskLocations = make(map[uint32]*hub.DiskLocation, len(o.GetDiskLocations()))
			for id, l := range o.GetDiskLocations() {
				var number uint32
				if err := diskNumber("disk id", id, &number); err != nil {
					return err
				}
				h.DiskLocations[number] = &hub.DiskLocation{Adapter: l.GetAdapter(), Bus: l.GetBus(),
					Target: l.GetTarget(), LUNID: l.GetLUNID()}
			}
			return nil
		})
}

// The keys of the identifiers of ListDiskIDs; both are always present.
const (
	keyPage83       = "page83"
	keySerialNumber = "serialNumber"
)

func diskIDs() *Mapping {
	return between(
		func(*old.ListDiskIDsRequest, *hub.ListDiskIDsRequest) error { return nil },
		func(h *hub.ListDiskIDsResponse, o *old.ListDiskIDsResponse) {
			o.DiskIDs = make(map[string]*old.DiskIDs, len(h.GetDiskIDs()))
			for number, ids := range h.GetDiskIDs() {
				o.DiskIDs[diskID(number)] = &old.DiskIDs{Identifiers: map[string]string{keyPage83: ids.GetPage83(),
					keySerialNumber: ids.GetSerialNumber()}}
			}
		},
		func(*hub.ListDiskIDsRequest, *old.ListDiskIDsRequest) error { return nil },
		func(o *old.ListDiskIDsResponse, h *hub.ListDiskIDsResponse) error {
			h.DiskIDs = make(map[uint32]*hub.DiskIDs, len(o.GetDiskIDs()))
			for id, ids := range o.GetDiskIDs() {
				var number uint32
				if err := diskNumber("disk id", id, &number); err != nil {
					return err
				}
				h.DiskIDs[number] = &hub.DiskIDs{Page83: ids.GetIdentifiers()[keyPage83],
					SerialNumber: ids.GetIdentifiers()[keySerialNumber]}
			}
			return nil
		})
}

func partitionDisk() *Mapping {
	return between(
		func(o *old.PartitionDiskRequest, h *hub.PartitionDiskRequest) error {
			return diskNumber("diskID", o.GetDiskID(), &h.DiskNumber)
		},
		func(*hub.PartitionDiskResponse, *old.PartitionDiskResponse) {},
		func(h *hub.PartitionDiskRequest, o *old.PartitionDiskRequest) error {
			o.DiskID = diskID(h.GetDiskNumber())
			return nil
		},
		func(*old.PartitionDiskResponse, *hub.PartitionDiskResponse) error { return nil })
}

func diskStats() *Mapping {
	return between(
		func(o *old.DiskStatsRequest, h *hub.GetDiskStatsRequest) error {
			return diskNumber("diskID", o.GetDiskID(), &h.DiskNumber)
		},
		func(h *hub.GetDiskStatsResponse, o *old.DiskStatsResponse) { o.DiskSize = h.GetTotalBytes() },
		func(h *hub.GetDiskStatsRequest, o *old.DiskStatsRequest) error {
			o.DiskID = diskID(h.GetDiskNumber())
			return nil
		},
		func(o *old.DiskStatsResponse, h *hub.GetDiskStatsResponse) error {
			h.TotalBytes = o.GetDiskSize()
			return nil
		})
}

func setAttachState() *Mapping {
	return between(
		func(o *old.SetAttachStateRequest, h *hub.SetDiskStateRequest) error {
			h.IsOnline = o.GetIsOnline()
			return diskNumber("diskID", o.GetDiskID(), &h.DiskNumber)
		},
		func(*hub.SetDiskStateResponse, *old.SetAttachStateResponse) {},
		func(h *hub.SetDiskStateRequest, o *old.SetAttachStateRequest) error {
			o.DiskID, o.IsOnline = diskID(h.GetDiskNumber()), h.GetIsOnline()
			return nil
		},
		func(*old.SetAttachStateResponse, *hub.SetDiskStateResponse) error { return nil })
}

func getAttachState() *Mapping {
	return between(
		func(o *old.GetAttachStateRequest, h *hub.GetDiskStateRequest) error {
			return diskNumber("diskID", o.GetDiskID(), &h.DiskNumber)
		},
		func(h *hub.GetDiskStateResponse, o *old.GetAttachStateResponse) { o.IsOnline = h.GetIsOnline() },
		func(h *hub.GetDiskStateRequest, o *old.GetAttachStateRequest) error {
			o.DiskID = diskID(h.GetDiskNumber())
			return nil
		},
		func(o *old.GetAttachStateResponse, h *hub.GetDiskStateResponse) error {
			h.IsOnline = o.GetIsOnline()
			return nil
		})
}
