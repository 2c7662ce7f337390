// SPDX-License-Identifier: Apache-2.0

package contract

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
	volume := func(w *exampleNode) { w.Raw(1) }
	offline := func(w *exampleNode) { w.Raw(1); w.SetDiskOnline(1, false) }
	return []kernelExample{
		{"ListDiskLocations", "three disks", nil, func(w *exampleNode) error { _, err := w.ListDiskLocations(); return err }},
		{"ListDiskIDs", "three disks, the first without page 83", nil,
			func(w *exampleNode) error { _, err := w.ListDiskIDs(); return err }},
		{"Rescan", "nothing new", nil, func(w *exampleNode) error { return w.Rescan() }},
		{"GetDiskStats", "an offline disk", nil, func(w *exampleNode) error { _, err := w.GetDiskStats(2); return err }},
		{"PartitionDisk", "blank and online", nil, partitionDisk(1)},
		{"PartitionDisk", "blank and offline", nil, partitionDisk(2)},
		{"PartitionDisk", "partitioned", volume, partitionDisk(1)},
		{"PartitionDisk", "partitioned and offline", offline, partitionDisk(1)},
		{"SetDiskState", "offline, blank: online", nil, setDiskState(2, true)},
		{"SetDiskState", "offline, with a volume: online", offline, setDiskState(1, true)},
		{"SetDiskState", "online, with a volume: online", volume, setDiskState(1, true)},
		{"SetDiskState", "online, with a volume: offline", volume, setDiskState(1, false)},
		{"SetDiskState", "offline: offline", nil, setDiskState(2, false)},
		{"GetDiskState", "online", nil, func(w *exampleNode) error { _, err := w.GetDiskState(1); return err }},
	}
}

func partitionDisk(number uint32) func(*exampleNode) error {
	return func(w *exampleNode) error { return w.PartitionDisk(number) }
}

func setDiskState(number uint32, online bool) func(*exampleNode) error {
	return func(w *exampleNode) error { return w.SetDiskState(number, online) }
}
