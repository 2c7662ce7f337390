// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/admin"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// snapshot is the state of a node at one moment, except random values.
type snapshot struct {
	Disks []treeview.Disk   // volume ids replaced by where the volume is
	Paths map[string]string // the entries below kubelet's directory: "directory", or where a link leads
	Stats [2]int64          // the driver's last NodeGetVolumeStats: total and used
}

// observer takes snapshots of a node past the agent, so that they neither add to its kernel calls nor disturb them.
type observer struct {
	emulated *emulated.Node
	node     *node.Node
	volumes  map[string]string // every volume seen so far: id to place
}

func newObserver(t testing.TB, e *emulated.Node) *observer {
	t.Helper()
	n, err := node.New(e, node.Config{WorkingDirs: []string{agent.KubeletDir}})
	caller.OK(t, err)
	n = n.For(operation.Everything())
	return &observer{emulated: e, node: n, volumes: make(map[string]string)}
}

func (o *observer) snapshot(t testing.TB) snapshot {
	t.Helper()
	tree := treeview.FromFacts(admin.FactsOf(t.Context(), o.node, treeview.Parts()...))
	s := snapshot{Disks: tree.Disks, Paths: make(map[string]string)}
	for i, d := range s.Disks {
		if len(d.Partitions) == 0 { // read-only or not, RAW or an empty MBR, as this Windows has it
			s.Disks[i].Style, s.Disks[i].ReadOnly = "", nil
		}
		for _, p := range d.Partitions {
			if v := p.Volume; v != nil {
				place := fmt.Sprintf("volume of disk %d, partition %d", d.Number, p.Number)
				o.volumes[v.ID] = place
				v.ID = place
			}
		}
	}
	host, err := o.emulated.HostPath(agent.KubeletDir)
	caller.OK(t, err)
	o.list(t, s.Paths, agent.KubeletDir, host)
	return s
}

// list lists a directory and everything below it; links and mount points are not followed.
func (o *observer) list(t testing.TB, paths map[string]string, directory, host string) {
	t.Helper()
	entries, err := os.ReadDir(host)
	caller.OK(t, err)
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".csi-proxy-reparse") {
			continue // what an interrupted call left: Windows does not see it
		}
		path := directory + `\` + entry.Name()
		target, err := o.emulated.Readlink(path)
		switch {
		case err == nil:
			for id, place := range o.volumes {
				target = strings.ReplaceAll(target, id, place)
			}
			paths[path] = "leads to " + target
		case entry.IsDir():
			paths[path] = "directory"
			o.list(t, paths, path, filepath.Join(host, entry.Name()))
		default:
			paths[path] = "file"
		}
	}
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
