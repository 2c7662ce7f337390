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

// diskNumber converts a disk: decimal digits of a number of 32 bits. The name is the old field's.
func (c *conversion) diskNumber(name string, old *string, hub *uint32) {
	if !c.up {
		*old = strconv.FormatUint(uint64(*hub), 10)
		return
	}
	n, err := strconv.ParseUint(*old, 10, 32)
	if err != nil {
		c.fail(&ArgumentError{Field: name, Value: *old, Problem: "is not a disk number"})
	}
	*hub = uint32(n)
}

// byDisk converts something of each disk.
func byDisk[Old, Hub any](c *conversion, olds *map[string]*Old, hubs *map[uint32]*Hub, each func(*Old, *Hub)) {
	if c.up {
		*hubs = make(map[uint32]*Hub, len(*olds))
		for id, old := range *olds {
			var number uint32
			c.diskNumber("disk id", &id, &number)
			(*hubs)[number] = new(Hub)
			each(old, (*hubs)[number])
		}
		return
	}
	*olds = make(map[string]*Old, len(*hubs))
	for number, hub := range *hubs {
		var id string
		c.diskNumber("disk id", &id, &number)
		(*olds)[id] = new(Old)
		each((*olds)[id], hub)
	}
}

func diskLocations() *Mapping {
	return between(
		func(*old.ListDiskLocationsRequest, *hub.ListDiskLocationsRequest, *conversion) {},
		func(o *old.ListDiskLocationsResponse, h *hub.ListDiskLocationsResponse, c *conversion) {
			byDisk(c, &o.DiskLocations, &h.DiskLocations, func(o *old.DiskLocation, h *hub.DiskLocation) {
				field(c, &o.Adapter, &h.Adapter)
				field(c, &o.Bus, &h.Bus)
				field(c, &o.Target, &h.Target)
				field(c, &o.LUNID, &h.LUNID)
			})
		})
}

func diskIDs() *Mapping {
	const page83, serialNumber = "page83", "serialNumber" // both are always present
	return between(
		func(*old.ListDiskIDsRequest, *hub.ListDiskIDsRequest, *conversion) {},
		func(o *old.ListDiskIDsResponse, h *hub.ListDiskIDsResponse, c *conversion) {
			byDisk(c, &o.DiskIDs, &h.DiskIDs, func(o *old.DiskIDs, h *hub.DiskIDs) {
				if c.up {
					h.Page83, h.SerialNumber = o.GetIdentifiers()[page83], o.GetIdentifiers()[serialNumber]
				} else {
					o.Identifiers = map[string]string{page83: h.GetPage83(), serialNumber: h.GetSerialNumber()}
				}
			})
		})
}

func partitionDisk() *Mapping {
	return between(
		func(o *old.PartitionDiskRequest, h *hub.PartitionDiskRequest, c *conversion) {
			c.diskNumber("diskID", &o.DiskID, &h.DiskNumber)
		},
		func(*old.PartitionDiskResponse, *hub.PartitionDiskResponse, *conversion) {})
}

func diskStats() *Mapping {
	return between(
		func(o *old.DiskStatsRequest, h *hub.GetDiskStatsRequest, c *conversion) {
			c.diskNumber("diskID", &o.DiskID, &h.DiskNumber)
		},
		func(o *old.DiskStatsResponse, h *hub.GetDiskStatsResponse, c *conversion) {
			field(c, &o.DiskSize, &h.TotalBytes)
		})
}

func setAttachState() *Mapping {
	return between(
		func(o *old.SetAttachStateRequest, h *hub.SetDiskStateRequest, c *conversion) {
			c.diskNumber("diskID", &o.DiskID, &h.DiskNumber)
			field(c, &o.IsOnline, &h.IsOnline)
		},
		func(*old.SetAttachStateResponse, *hub.SetDiskStateResponse, *conversion) {})
}

func getAttachState() *Mapping {
	return between(
		func(o *old.GetAttachStateRequest, h *hub.GetDiskStateRequest, c *conversion) {
			c.diskNumber("diskID", &o.DiskID, &h.DiskNumber)
		},
		func(o *old.GetAttachStateResponse, h *hub.GetDiskStateResponse, c *conversion) {
			field(c, &o.IsOnline, &h.IsOnline)
		})
}
