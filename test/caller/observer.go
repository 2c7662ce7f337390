// SPDX-License-Identifier: Apache-2.0

package caller

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/admin"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
)

// Observer looks at a node's storage past the agent, so that it neither adds to its kernel calls nor disturbs them.
type Observer struct {
	t        testing.TB
	emulated *emulated.Node
	node     *node.Node
	seen     map[string]string // every volume so far: id to place
}

// Observe returns an observer of a node.
func Observe(t testing.TB, e *emulated.Node) *Observer {
	t.Helper()
	n, err := node.New(e, node.Config{WorkingDirs: []string{node.KubeletDir}})
	OK(t, err)
	return &Observer{t, e, n.For(operation.Everything()), map[string]string{}}
}

// Disks returns the disks, whose volumes are named by their places, and the volumes that there are: id to place.
func (o *Observer) Disks() (disks []treeview.Disk, volumes map[string]string) {
	o.t.Helper()
	tree := treeview.FromFacts(admin.FactsOf(context.WithoutCancel(o.t.Context()), o.node, treeview.Parts()...))
	volumes = map[string]string{}
	for _, d := range tree.Disks {
		for _, p := range d.Partitions {
			if v := p.Volume; v != nil {
				volumes[v.ID] = fmt.Sprintf("volume of disk %d, partition %d", d.Number, p.Number)
				v.ID = volumes[v.ID]
			}
		}
	}
	maps.Copy(o.seen, volumes)
	return tree.Disks, volumes
}

// Paths returns what is below kubelet's directory: "directory", "file", or where a link leads. Links and mount points
// are not followed.
func (o *Observer) Paths() map[string]string {
	o.t.Helper()
	host, err := o.emulated.HostPath(node.KubeletDir)
	OK(o.t, err)
	paths := map[string]string{}
	o.list(paths, node.KubeletDir, host)
	return paths
}

func (o *Observer) list(paths map[string]string, directory, host string) {
	o.t.Helper()
	entries, err := os.ReadDir(host)
	OK(o.t, err)
	for _, entry := range entries {
		if hostfiles.IsReserved(entry.Name()) {
			continue // what an interrupted call left: Windows does not see it
		}
		path := directory + `\` + entry.Name()
		target, err := o.emulated.Readlink(path)
		switch {
		case err == nil:
			for id, place := range o.seen {
				target = strings.ReplaceAll(target, id, place)
			}
			paths[path] = "leads to " + target
		case entry.IsDir():
			paths[path] = "directory"
			o.list(paths, path, filepath.Join(host, entry.Name()))
		default:
			paths[path] = "file"
		}
	}
}
