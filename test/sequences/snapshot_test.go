// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// snapshot is the state of a node at one moment, except random values.
type snapshot struct {
	Disks []*admin.Disk     // volume ids replaced by where the volume is
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
	tree, err := o.node.Tree(t.Context())
	caller.OK(t, err)
	s := snapshot{Disks: tree.GetDisks(), Paths: make(map[string]string)}
	for _, d := range s.Disks {
		if len(d.GetPartitions()) == 0 { // read-only or not, RAW or an empty MBR, as this Windows has it
			d.Style, d.ReadOnly = "", false
		}
		for _, p := range d.GetPartitions() {
			if v := p.GetVolume(); v != nil {
				place := fmt.Sprintf("volume of disk %d, partition %d", d.GetNumber(), p.GetNumber())
				o.volumes[v.GetId()] = place
				v.Id = place
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
	same := func(d *admin.Disk) bool { return d.GetNumber() == disk }
	at, wantAt := slices.IndexFunc(s.Disks, same), slices.IndexFunc(want.Disks, same)
	if at < 0 || wantAt < 0 {
		return s, l
	}
	got, wanted := proto.CloneOf(s.Disks[at]), want.Disks[wantAt]
	s.Disks[at] = got
	if got.GetOnline() && !wanted.GetOnline() {
		l.Online, got.Online = true, false
		for _, p := range got.GetPartitions() {
			p.Volume = nil
		}
	}
	if len(got.GetPartitions()) == len(wanted.GetPartitions()) {
		for i, p := range got.GetPartitions() {
			l.Ungrown = enlarge(p, wanted.GetPartitions()[i]) || l.Ungrown
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
func enlarge(got, wanted *admin.Partition) (smaller bool) {
	if got.GetSizeBytes() < wanted.GetSizeBytes() {
		got.SizeBytes, smaller = wanted.GetSizeBytes(), true
	}
	v, w := got.GetVolume(), wanted.GetVolume()
	if v == nil || w == nil || v.GetTotalBytes() >= w.GetTotalBytes() {
		return smaller
	}
	v.TotalBytes, v.UsedBytes = w.GetTotalBytes(), w.GetUsedBytes()
	return true
}
