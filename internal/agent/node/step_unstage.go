// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"

	api "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/records"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// Unstage removes what is at target_path, as the proto says. It needs no room for records, and no server.
func (s *Steps) Unstage(ctx context.Context, r *api.UnstageRequest) (*api.UnstageResponse, error) {
	target, err := s.node.mayTake(s.node.targetPath, r.GetTargetPath(), "removed")
	if err != nil {
		return nil, err
	}
	what := stepAt("Unstage", target, r)
	what.Undoes = true
	return &api.UnstageResponse{}, s.node.do(ctx, what, func(o *op) error { return o.unstage(target) })
}

func (o *op) unstage(target winpath.Path) error {
	if o.node.records == nil {
		return o.unmountAndTakeOffline(target)
	}
	use, err := o.node.records.Get(records.Use, target.String())
	if err := o.unstageVolume(target); err != nil {
		return err
	}
	switch {
	case errors.Is(err, records.ErrNone):
		return nil
	case err != nil: // whatever share it was, its mapping stays
		o.log().Error(err, "The record of a share is removed", "path", target)
		return recordError(o.node.records.Remove(records.Use, target.String()))
	}
	return o.leaveShare(use, target)
}

// unstageVolume records the volume until its disk is offline. It finishes what an earlier call had begun.
func (o *op) unstageVolume(target winpath.Path) error {
	log, at := o.node.records, target.String()
	record, err := log.Get(records.Unstaging, at)
	if err != nil && !errors.Is(err, records.ErrNone) {
		return recordError(err)
	}
	there, mounted, err := o.mountPointAt(target)
	if err != nil {
		return err
	}
	isSame := mounted && record.Volume == there.String()
	if record.Volume != "" && !isSame { // an earlier call was interrupted after it unmounted that volume
		if id, err := winpath.ParseVolumeID(record.Volume); err == nil {
			if err := o.takeUnusedOffline(id); err != nil {
				return err
			}
		}
		if err := log.Remove(records.Unstaging, at); err != nil {
			return recordError(err)
		}
	}
	if mounted {
		if err := log.Put(records.Unstaging, records.Record{Volume: there.String(), Target: at}); err != nil {
			o.log().Error(err, "The unstaging of a volume is not recorded: if it is interrupted, the disk "+
				"stays online", "volume", there, "path", target)
		}
	}
	if err := o.unmountAndTakeOffline(target); err != nil || !mounted {
		return err
	}
	return recordError(log.Remove(records.Unstaging, at))
}

// mountPointAt returns the volume that is mounted at a path itself, if one is. It follows no link there.
func (o *op) mountPointAt(path winpath.Path) (id winpath.VolumeID, is bool, err error) {
	at, err := o.statOf(path)
	if errdefs.HasReason(err, reason.PathNotFound) {
		err = nil
	}
	id, is = at.MountedVolume()
	return id, is, err
}

// unmountAndTakeOffline flushes and unmounts the volume at a path, if there is one. It removes what is left there, a
// link or an empty directory, and takes the volume's disk offline.
func (o *op) unmountAndTakeOffline(target winpath.Path) error {
	id, mounted, err := o.mountPointAt(target)
	if err != nil {
		return err
	}
	if mounted {
		if err := o.run.Phase(func() error { return o.unmountVolume(id, target) }, operation.Volume(id)); err != nil {
			return err
		}
	}
	if err := o.removeEmpty(target); err != nil || !mounted {
		return err
	}
	return o.takeUnusedOffline(id)
}

// takeUnusedOffline takes the disk of a volume offline, so that it can be detached without loss, unless a volume of the
// disk is mounted. A volume that has gone is success. A disk that Windows needs stays online.
func (o *op) takeUnusedOffline(id winpath.VolumeID) error {
	// Only now: while the volume was flushed, its disk may have gone, and its number may be another one's.
	disk, err := o.singleDisk(id)
	if err == nil {
		err = o.run.Phase(func() error { return o.takeDiskOffline(disk, id) }, operation.Disk(disk))
	}
	if errdefs.HasReason(err, reason.VolumeNotFound, reason.DiskNotFound, reason.SystemDisk) {
		return nil
	}
	return err
}

func (o *op) takeDiskOffline(number uint32, id winpath.VolumeID) error {
	d, err := o.openDiskToChange(number, isDiskOf(id))
	if err != nil {
		return err
	}
	defer d.Close()
	volumes, used, err := o.mountedVolumes(d)
	if err != nil || used {
		return err
	}
	return o.takeOffline(d, volumes)
}

// mountedVolumes lists the volumes of a disk, and reports whether any program has one mounted. The agent mounts none
// while the disk is locked. A volume that has to be there and does not answer may be mounted, which is an error.
func (o *op) mountedVolumes(d *disk) (volumes []diskVolume, used bool, err error) {
	volumes, unanswered, err := o.volumesOf(d)
	if err == nil && unanswered != nil {
		err = errdefs.Unavailable.Errorf(reason.NotAnswering,
			"disk %d stays online: the volume of partition %d does not answer, and may be mounted; try again", d.number,
			unanswered.Number)
	}
	if err != nil {
		return nil, false, err
	}
	for _, v := range volumes {
		paths, err := o.mountPoints(v.id)
		if err != nil {
			return nil, false, err
		}
		if len(paths) > 0 {
			o.log().Info("A disk stays online: a volume of it is mounted", "disk", d.number, "volume", v.id, "path", paths[0])
			return volumes, true, nil
		}
	}
	return volumes, false, nil
}
