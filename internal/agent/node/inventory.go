// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
)

// DiskCondition is the condition by which disks are counted. Of a disk that does not answer, it is unknown.
type DiskCondition struct{ Online, ReadOnly, Unknown bool }

// Count counts the disks that are present. It asks each, for as long as Windows takes or until the caller's deadline.
func (d *Disks) Count(ctx context.Context) (map[DiskCondition]int, error) {
	return read(ctx, d.node, operation.On("CountDisks"), func(o *op) (map[DiskCondition]int, error) {
		counts := map[DiskCondition]int{}
		paths, err := o.diskInterfaces()
		found, unknown := disksAt(o, paths, func(_ *op, d *disk) (diskState, error) { return d.state() })
		for _, disk := range found {
			counts[DiskCondition{Online: disk.online, ReadOnly: !disk.writable}]++
		}
		if len(unknown) > 0 {
			counts[DiskCondition{Unknown: true}] = len(unknown)
		}
		return counts, err
	})
}

// VolumeCounts counts the volumes with a mount point or drive letter, with neither, and those that do not answer.
type VolumeCounts struct{ Mounted, Unmounted, Unknown int }

// Count counts the volumes that are present, as Disks.Count does the disks.
func (v *Volumes) Count(ctx context.Context) (VolumeCounts, error) {
	return read(ctx, v.node, operation.On("CountVolumes"), func(o *op) (counts VolumeCounts, err error) {
		names, err := o.volumeNames()
		if err != nil {
			return counts, err
		}
		for _, a := range forEach(o, names, operation.VolumeDevice,
			func(o *op, name string) ([]string, error) { return o.kernel.VolumePathNames(name) }) {
			switch {
			case errdefs.IsMissing(a.Err): // it has gone meanwhile
			case a.Err != nil:
				counts.Unknown++
			case len(a.Value) > 0:
				counts.Mounted++
			default:
				counts.Unmounted++
			}
		}
		return counts, nil
	})
}

// Probe asks Plug and Play and the mount manager, which disks and volumes need, one cheap question each, for health
// checks. It calls asking with the kernel function's name before each query, so that a late answer can be attributed.
func (n *Node) Probe(ctx context.Context, asking func(function string)) error {
	_, err := read(ctx, n, operation.On("Probe"), func(o *op) ([]string, error) {
		asking("DiskInterfaces")
		if _, err := o.diskInterfaces(); err != nil {
			return nil, err
		}
		asking("VolumeNames")
		return o.volumeNames()
	})
	return err
}
