// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// snapshot is the state of a node at one moment, except random values.
type snapshot struct {
	Disks []treeview.Disk   // volume ids replaced by where the volume is
	Paths map[string]string // the entries below kubelet's directory: "directory", or where a link leads
	Stats [2]int64          // the driver's last NodeGetVolumeStats: total and used
}

// takeSnapshot takes one past the agent.
func takeSnapshot(o *caller.Observer) snapshot {
	s := snapshot{}
	s.Disks, _ = o.Disks()
	for i, d := range s.Disks {
		if len(d.Partitions) == 0 { // read-only or not, RAW or an empty MBR, as this Windows has it
			s.Disks[i].Style, s.Disks[i].ReadOnly = "", nil
		}
	}
	s.Paths = o.Paths()
	return s
}

// splitLeftovers removes from a snapshot its leftovers compared with the wanted one, and returns them.
func (s snapshot) splitLeftovers(want snapshot, disk uint32, staging string) (snapshot, leftover) {
	var l leftover
	s.Disks = slices.Clone(s.Disks)
	same := func(d treeview.Disk) bool { return d.Number == disk }
	at, wantAt := slices.IndexFunc(s.Disks, same), slices.IndexFunc(want.Disks, same)
	if at < 0 || wantAt < 0 {
		return s, l
	}
	got, wanted := &s.Disks[at], want.Disks[wantAt]
	got.Partitions = slices.Clone(got.Partitions)
	if got.IsOnline() && !wanted.IsOnline() {
		l.Online, got.Online = true, wanted.Online
		for i := range got.Partitions {
			got.Partitions[i].Volume = nil
		}
	}
	if len(got.Partitions) == len(wanted.Partitions) {
		for i := range got.Partitions {
			l.Ungrown = enlarge(&got.Partitions[i], wanted.Partitions[i]) || l.Ungrown
		}
	}
	if l.Ungrown && s.Stats != [2]int64{} {
		s.Stats = want.Stats
	}
	for path, kind := range s.Paths {
		if _, wanted := want.Paths[path]; !wanted && kind == "directory" && strings.EqualFold(path, withDrive(staging)) {
			l.Directory = true
			delete(s.Paths, path)
		}
	}
	return s, l
}

// enlarge gives a partition the sizes of the wanted one, and reports whether it or its file system was smaller.
func enlarge(got *treeview.Partition, wanted treeview.Partition) (smaller bool) {
	if got.SizeBytes < wanted.SizeBytes {
		got.SizeBytes, smaller = wanted.SizeBytes, true
	}
	v, w := got.Volume, wanted.Volume
	if v == nil || w == nil || v.TotalBytes >= w.TotalBytes {
		return smaller
	}
	larger := *v
	larger.TotalBytes, larger.UsedBytes = w.TotalBytes, w.UsedBytes
	got.Volume = &larger
	return true
}
