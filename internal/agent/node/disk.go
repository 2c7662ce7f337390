// SPDX-License-Identifier: Apache-2.0

package node

// Disks is the disk group. A disk is named by its Windows disk number, which may change with a reboot and is reused.
type Disks struct{ node *Node }

var diskMethods = []Method{
	reads("ListDiskLocations", (*Disks).ListDiskLocations, nil),
	reads("ListDiskIDs", (*Disks).ListDiskIDs, nil),
	reads("GetDiskStats", (*Disks).GetDiskStats, nil),
	reads("GetDiskState", (*Disks).GetDiskState, nil),
	changes("SetDiskState", LimitLong, (*Disks).SetDiskState, nil),
	changes("PartitionDisk", LimitLong, (*Disks).PartitionDisk, nil),
	fresh(changes("Rescan", LimitLong, (*Disks).Rescan, nil)),
	only("v1alpha1", reads("GetDiskNumberByName", (*Disks).GetDiskNumberByName, fields{"disk_name": NamesNothing})),
}
