// SPDX-License-Identifier: Apache-2.0

package journal

import diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"

func diskVaries() map[string]string {
	return map[string]string{
		"ListDiskLocations": "with the disks. Windows lists them in no particular order; the emulated node by number.",
		"ListDiskIDs":       "with the disks, as above. A descriptor that is longer than the buffer is asked for again.",
		"PartitionDisk": "the layout is read every 100 ms until the Microsoft reserved partition is there, 5 s at most; ReadAt is " +
			"called once for each end of the disk that has to be blank.",
		"SetDiskState": "after bringing a disk online, until each of its partitions has its volume.",
	}
}

func diskExamples() []example {
	return []example{
		{"ListDiskLocations", "three disks", nil, func(w *world) error {
			_, err := w.Disk.ListDiskLocations(w.ctx, &diskapi.ListDiskLocationsRequest{})
			return err
		}},
		{"ListDiskIDs", "three disks, the first without page 83", nil, func(w *world) error {
			_, err := w.Disk.ListDiskIDs(w.ctx, &diskapi.ListDiskIDsRequest{})
			return err
		}},
		{"Rescan", "nothing new", nil, func(w *world) error {
			_, err := w.Disk.Rescan(w.ctx, &diskapi.RescanRequest{})
			return err
		}},
		{"GetDiskStats", "an offline disk", nil, func(w *world) error {
			_, err := w.Disk.GetDiskStats(w.ctx, &diskapi.GetDiskStatsRequest{DiskNumber: 2})
			return err
		}},
		{"PartitionDisk", "blank and online", nil, partition(1)},
		{"PartitionDisk", "blank and offline", nil, partition(2)},
		{"PartitionDisk", "partitioned", func(w *world) { w.must(partition(1)(w)) }, partition(1)},
		{"PartitionDisk", "partitioned and offline", func(w *world) {
			w.must(partition(1)(w))
			w.SetDiskOnline(1, false)
		}, partition(1)},
		{"SetDiskState", "offline, blank: online", nil, setState(2, true)},
		{"SetDiskState", "offline, with a volume: online", func(w *world) {
			w.must(partition(1)(w))
			w.SetDiskOnline(1, false)
		}, setState(1, true)},
		{"SetDiskState", "online, with a volume: online", func(w *world) { w.must(partition(1)(w)) }, setState(1, true)},
		{"SetDiskState", "online, with a volume: offline", func(w *world) { w.must(partition(1)(w)) }, setState(1, false)},
		{"SetDiskState", "offline: offline", nil, setState(2, false)},
		{"GetDiskState", "online", nil, func(w *world) error {
			_, err := w.Disk.GetDiskState(w.ctx, &diskapi.GetDiskStateRequest{DiskNumber: 1})
			return err
		}},
	}
}

func partition(number uint32) func(*world) error {
	return func(w *world) error {
		_, err := w.Disk.PartitionDisk(w.ctx, &diskapi.PartitionDiskRequest{DiskNumber: number})
		return err
	}
}

func setState(number uint32, online bool) func(*world) error {
	return func(w *world) error {
		_, err := w.Disk.SetDiskState(w.ctx, &diskapi.SetDiskStateRequest{DiskNumber: number, IsOnline: online})
		return err
	}
}
