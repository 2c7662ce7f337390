// SPDX-License-Identifier: Apache-2.0

package node

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// Seen is what a look at all disks or volumes has seen, and what it has not, one sentence each.
type Seen[T any] struct {
	All     []T
	Unknown []error
}

func (s *Seen[T]) addUnknown(what string, err error) {
	if err != nil {
		s.Unknown = append(s.Unknown, fmt.Errorf("%s: %w", what, err))
	}
}

// Facts looks at each disk and its partitions, and with contents at what those hold that have no data partition. What
// Windows does not tell of a disk is marked as unknown: people format what seems to have no file system. It is too
// costly for polling.
func (d *Disks) Facts(ctx context.Context, contents bool) (Seen[*api.Disk], error) {
	return read(ctx, d.node, operation.On("LookAtDisks"), func(o *op) (seen Seen[*api.Disk], _ error) {
		windows, err := askApart(o, "the disk that Windows runs from", (*op).systemUse)
		if err == nil {
			o.windows = &windows
		}
		seen.addUnknown("which disk is the system's, and the addresses of the disks", err)
		paths, err := askApart(o, "the list of disks", (*op).diskInterfaces)
		seen.addUnknown("which disks there are", err)
		found, unknown := disksAt(o, paths, func(o *op, d *disk) (foundDisk, error) { return o.diskFacts(d, contents) })
		located := false
		if o.windows != nil && len(found) > 0 {
			err := o.findLUNs(found)
			seen.addUnknown("the addresses of the disks", err)
			located = err == nil
		}
		for _, d := range found {
			if o.windows != nil {
				d.facts.System = new(windows.useOf(d.number) == runsFrom)
			}
			if at := d.address; located {
				d.facts.Adapter, d.facts.Bus, d.facts.Target, d.facts.Lun = at.Adapter, at.Bus, at.Target, d.lun
			}
			seen.All = append(seen.All, d.facts)
		}
		for _, d := range unknown {
			seen.All = append(seen.All, &api.Disk{Number: d.number, Unknown: d.err.Error(),
				Unanswered: errdefs.IsUnanswered(d.err)})
		}
		byNumber := func(a, b *api.Disk) int { return cmp.Compare(a.GetNumber(), b.GetNumber()) }
		slices.SortStableFunc(seen.All, byNumber)
		return seen, nil
	})
}

func (o *op) diskFacts(d *disk, contents bool) (found foundDisk, err error) {
	geometry, err := d.geometry()
	if err != nil {
		return found, err
	}
	state, err := d.state()
	if err != nil {
		return found, err
	}
	layout, err := d.layout()
	if err != nil {
		return found, err
	}
	ids, device := d.identify(o.run.Context)
	facts := &api.Disk{
		Number: &d.number, SizeBytes: geometry.DiskSize, Style: layout.Style.String(), Online: state.online,
		ReadOnly:     d.isReadOnly(state),
		SerialNumber: ids.SerialNumber, Page83: ids.Page83,
	}
	found = foundDisk{number: d.number, layout: layout, facts: facts}
	if state.online {
		o.node.taken.Delete(d.number)
	} else {
		facts.TakenVolumes, facts.TakenOffline = o.takenVolumes(d, layout)
	}
	if device != nil {
		facts.BusType, found.busType = busTypeName(device.BusType), device.BusType
		found.address, _ = d.location() // without it, the disk is shown without one
	}
	for _, p := range layout.Partitions {
		if p.Length != 0 {
			facts.Partitions = append(facts.Partitions, &api.Partition{Number: p.Number, OffsetBytes: p.StartingOffset,
				SizeBytes: p.Length, Kind: partitionKind(p), GptAttributes: p.Attributes, GetsVolume: getsVolume(p)})
		}
	}
	if contents && state.online && !layout.HasDataPartition() {
		if facts.Content, err = o.contentOfDisk(d.number, layout, geometry.DiskSize); err != nil {
			facts.Unknown, facts.Unanswered = err.Error(), errdefs.IsUnanswered(err)
		}
	}
	return found, nil
}

// Facts looks at each volume that lies on disks. What Windows does not tell of it is marked as unknown.
func (v *Volumes) Facts(ctx context.Context) (Seen[*api.Volume], error) {
	return read(ctx, v.node, operation.On("LookAtVolumes"), func(o *op) (seen Seen[*api.Volume], _ error) {
		ids, err := askApart(o, "the list of volumes", (*op).volumeIDs)
		seen.addUnknown("which volumes there are", err)
		var located []winpath.VolumeID
		var where []extents
		for i, a := range forEach(o, ids, operation.Volume, (*op).volumeExtents) {
			switch {
			case a.Err == nil:
				located, where = append(located, ids[i]), append(where, a.Value)
			case errdefs.HasReason(a.Err, reason.NotAnswering): // others, such as drives of CD-ROMs, lie on no disk
				seen.addUnknown("on which partition a volume lies", a.Err)
			}
		}
		for i, a := range forEach(o, located, operation.Volume, (*op).volumeFacts) {
			volume := a.Value
			if a.Err != nil {
				volume = &api.Volume{Id: located[i].String(), Unknown: a.Err.Error(), Unanswered: errdefs.IsUnanswered(a.Err)}
			}
			for _, e := range where[i] {
				volume.Extents = append(volume.Extents, &api.Extent{Disk: e.DiskNumber, OffsetBytes: e.StartingOffset})
			}
			seen.All = append(seen.All, volume)
		}
		return seen, nil
	})
}

func (o *op) volumeFacts(id winpath.VolumeID) (*api.Volume, error) {
	volume := &api.Volume{Id: id.String()}
	unknown := func(err error) {
		if err != nil {
			volume.Unknown, volume.Unanswered = err.Error(), errdefs.IsUnanswered(err)
		}
	}
	var err error
	volume.FileSystem, err = o.fileSystem(id)
	unknown(err)
	if volume.GetFileSystem() != "" {
		stats, err := o.volumeStats(id)
		volume.TotalBytes, volume.UsedBytes = stats.Total, stats.Used
		unknown(err)
	}
	volume.MountPoints, err = o.mountPoints(id)
	unknown(err)
	slices.Sort(volume.GetMountPoints())
	return volume, nil
}
