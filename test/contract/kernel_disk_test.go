// SPDX-License-Identifier: Apache-2.0

package contract

import diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"

func diskVaries() map[string]string {
	return map[string]string{
		"ListDiskLocations": "with the disks. Windows lists them in no particular order; the emulated node by number.",
		"ListDiskIDs":       "with the disks, as above. A descriptor longer than the buffer is read again.",
		"PartitionDisk": "the layout is read until the Microsoft reserved partition exists, for 1 s at most; ReadAt is " +
			"called for each " +
			"part of the disk that must be blank, a hundred times or so.",
		"SetDiskState": "after bringing a disk online, until each of its partitions has its volume.",
	}
}

func diskExamples() []kernelExample {
	return []kernelExample{
		{"ListDiskLocations", "three disks", nil, func(w *exampleNode) error {
			_, err := w.Disk.ListDiskLocations(w.ctx, &diskapi.ListDiskLocationsRequest{})
			return err
		}},
		{"ListDiskIDs", "three disks, the first without page 83", nil, func(w *exampleNode) error {
			_, err := w.Disk.ListDiskIDs(w.ctx, &diskapi.ListDiskIDsRequest{})
			return err
		}},
		{"Rescan", "nothing new", nil, func(w *exampleNode) error {
			_, err := w.Disk.Rescan(w.ctx, &diskapi.RescanRequest{})
			return err
		}},
		{"GetDiskStats", "an offline disk", nil, func(w *exampleNode) error {
			_, err := w.Disk.GetDiskStats(w.ctx, &diskapi.GetDiskStatsRequest{DiskNumber: 2})
			return err
		}},
		{"PartitionDisk", "blank and online", nil, partitionDisk(1)},
		{"PartitionDisk", "blank and offline", nil, partitionDisk(2)},
		{"PartitionDisk", "partitioned", func(w *exampleNode) { w.must(partitionDisk(1)(w)) }, partitionDisk(1)},
		{"PartitionDisk", "partitioned and offline", func(w *exampleNode) {
			w.must(partitionDisk(1)(w))
			w.SetDiskOnline(1, false)
		}, partitionDisk(1)},
		{"SetDiskState", "offline, blank: online", nil, setDiskState(2, true)},
		{"SetDiskState", "offline, with a volume: online", func(w *exampleNode) {
			w.must(partitionDisk(1)(w))
			w.SetDiskOnline(1, false)
		}, setDiskState(1, true)},
		{"SetDiskState", "online, with a volume: online", func(w *exampleNode) { w.must(partitionDisk(1)(w)) },
			setDiskState(1, true)},
		{"SetDiskState", "online, with a volume: offline", func(w *exampleNode) { w.must(partitionDisk(1)(w)) },
			setDiskState(1, false)},
		{"SetDiskState", "offline: offline", nil, setDiskState(2, false)},
		{"GetDiskState", "online", nil, func(w *exampleNode) error {
			_, err := w.Disk.GetDiskState(w.ctx, &diskapi.GetDiskStateRequest{DiskNumber: 1})
			return err
		}},
	}
}

func partitionDisk(number uint32) func(*exampleNode) error {
	return func(w *exampleNode) error {
		_, err := w.Disk.PartitionDisk(w.ctx, &diskapi.PartitionDiskRequest{DiskNumber: number})
		return err
	}
}

func setDiskState(number uint32, online bool) func(*exampleNode) error {
	return func(w *exampleNode) error {
		_, err := w.Disk.SetDiskState(w.ctx, &diskapi.SetDiskStateRequest{DiskNumber: number, IsOnline: online})
		return err
	}
}
