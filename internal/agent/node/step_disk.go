// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"slices"
	"strings"

	api "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// A diskStep is one StageDisk.
type diskStep struct {
	number   uint32
	verify   func(*op, *disk) error // nil: whatever disk has the number
	target   winpath.Path
	readOnly bool
	keepSize bool
	access   []win32.AccessEntry
}

// StageDisk mounts the data volume of the one disk that the request describes, and makes it first, as the proto says.
// It waits for the disk only as long as its caller does: a disk that arrives later is not staged.
func (s *Steps) StageDisk(ctx context.Context, r *api.StageDiskRequest) (*api.StageDiskResponse, error) {
	step := diskStep{readOnly: r.GetReadOnly(), keepSize: r.GetKeepSize()}
	at := r.GetIscsiDisk()
	if err := shortTexts(r.GetSerialNumber(), r.GetPage83Id(), r.GetEbsVolumeId(), r.GetGceDeviceName(),
		r.GetVsphereUuid(), r.GetModel(), r.GetExpected().GetSerialNumber(), r.GetExpected().GetPage83Id(),
		at.GetTargetAddress(), at.GetIqn()); err != nil {
		return nil, err
	}
	var err error
	if step.access, err = parseAccess(r.GetAccess()); err != nil {
		return nil, err
	}
	numbered, byNumber := r.GetDisk().(*api.StageDiskRequest_DiskNumber)
	var m match
	switch {
	case byNumber:
	case r.GetExpected() != nil:
		return nil, errdefs.InvalidArgument.Errorf(reason.InvalidArgument,
			"the request has expected marks, and names its disk by another mark than the number")
	default:
		if m, err = matchOf(r); err != nil {
			return nil, err
		}
	}
	if step.target, err = s.node.mayTake(s.node.targetPath, r.GetTargetPath(), "mounted over"); err != nil {
		return nil, err
	}
	what := stepAt("StageDisk", step.target, r)
	if byNumber { // a disk with a known number is there already
		step.number = numbered.DiskNumber
		if expected := r.GetExpected(); expected != nil {
			ids := DiskIDs{Page83: expected.GetPage83Id(), SerialNumber: expected.GetSerialNumber()}
			step.verify = foundDisk{number: step.number, ids: ids}.is
		}
		what.Arguments = fmt.Sprintf("number %d", step.number)
	} else {
		found, err := s.node.awaitDisk(ctx, m)
		if err != nil {
			return nil, err
		}
		step.number, step.verify = found.number, found.is
		// Callers that found different disks do not join.
		what.Arguments = fmt.Sprintf("%s: disk %s", m.what, found)
	}
	return run(ctx, s.node, what, func(o *op) (*api.StageDiskResponse, error) { return o.stageDisk(step) })
}

func (o *op) stageDisk(s diskStep) (*api.StageDiskResponse, error) {
	there, err := o.mountedAt(s.target)
	if err != nil {
		return nil, err
	}
	if on := there.extents.disks(); len(on) > 0 && !slices.Contains(on, s.number) {
		return nil, otherVolume("a volume of disk %d is mounted at %s, not one of disk %d", on[0], s.target, s.number)
	}
	if there.gone {
		if err := o.refuseMissing(s, there); err != nil {
			return nil, err
		}
	}
	var volume winpath.VolumeID
	if err := o.run.Phase(func() (err error) { volume, err = o.dataVolume(s, there); return err },
		operation.Disk(s.number)); err != nil {
		return nil, err
	}
	if there.gone && there.id != volume {
		if _, err := o.volumeExtents(there.id); err == nil { // it has come back meanwhile
			return nil, otherVolume("volume %s is mounted at %s", there.id, s.target)
		}
		if err := o.run.Phase(func() error { return o.unmountVolume(there.id, s.target) },
			operation.Volume(there.id)); err != nil {
			return nil, err
		}
	}
	response := &api.StageDiskResponse{DiskNumber: s.number, VolumeId: volume.String()}
	// From here on, the volume's id says which disk is meant.
	if err := o.run.Phase(func() (err error) {
		if response.Access, err = o.makeFileSystem(s, volume); err != nil {
			return err
		}
		return o.mountVolume(volume, s.target)
	}, operation.Volume(volume)); err != nil {
		return nil, err
	}
	if !s.readOnly && !s.keepSize {
		err := o.run.Phase(func() error { return o.resizeVolume(volume, 0) }, operation.Volume(volume))
		if errdefs.HasReason(err, reason.CannotExtend) {
			o.log().Info("A volume keeps its size", "volume", volume, "disk", s.number, "err", err)
		} else if err != nil {
			return nil, err
		}
	}
	size, err := o.sizeOf(s.number, volume)
	response.DiskBytes, response.TotalBytes = size.disk, size.fileSystem
	return response, err
}

func otherVolume(format string, args ...any) error {
	return errdefs.FailedPrecondition.Errorf(reason.OtherVolumeMounted, "another volume is mounted: "+format, args...)
}

// dataVolume returns the data volume of a disk, after making what is missing for it.
func (o *op) dataVolume(s diskStep, there mounted) (winpath.VolumeID, error) {
	d, err := o.openToStage(s)
	if err != nil {
		return winpath.VolumeID{}, err
	}
	defer d.Close()
	partitions, err := d.partitionsWithVolumes(0)
	if s.readOnly && errdefs.HasReason(err, reason.DiskRaw, reason.NoDataPartition) {
		err = errdefs.FailedPrecondition.WrapErrorf(err, reason.NotFormatted, "no file system: %v", err)
	}
	if err != nil {
		return winpath.VolumeID{}, err
	}
	partitions = slices.DeleteFunc(partitions, func(p win32.Partition) bool { return !isDataPartition(p) })
	volumes, err := o.awaitVolumes(d, partitions)
	if err != nil {
		return winpath.VolumeID{}, err
	}
	var ids []string
	for _, v := range volumes {
		if there.id == v.id || len(there.extents) == 1 && there.extents[0] == v.extent {
			return v.id, nil
		}
		ids = append(ids, v.id.String())
	}
	switch {
	case len(volumes) == 1:
		return volumes[0].id, nil
	case len(volumes) == 0 && s.readOnly:
		return winpath.VolumeID{}, errdefs.FailedPrecondition.Errorf(reason.NotFormatted,
			"no file system: disk %d has no volume%s", d.number, hiddenOf(partitions))
	case len(volumes) == 0:
		return winpath.VolumeID{}, errdefs.NotFound.Errorf(reason.VolumeNotFound, "disk %d has no data volume%s", d.number,
			hiddenOf(partitions))
	}
	return winpath.VolumeID{}, errdefs.FailedPrecondition.Errorf(reason.AmbiguousVolume,
		"disk %d has several data volumes, and none of them is mounted at %s: %s; mount the one that is meant with "+
			"MountVolume", d.number, s.target, strings.Join(ids, ", "))
}

// openToStage opens the disk that is staged. It is online then and, unless it is staged read-only, partitioned.
func (o *op) openToStage(s diskStep) (*disk, error) {
	if s.readOnly { // bringing a disk online makes it writable as well
		d, err := o.openVerified(s.number, 0, s.verify)
		if err != nil {
			return nil, err
		}
		state, err := d.state()
		if err == nil && state.online {
			return d, nil
		}
		_ = d.Close() // nothing was written through it
		if err != nil {
			return nil, err
		}
	}
	d, err := o.openDiskToChange(s.number, s.verify)
	if err != nil {
		return nil, err
	}
	if !s.readOnly {
		_, err = o.makePartition(d)
	}
	if err == nil {
		err = o.makeUsable(d)
	}
	if err != nil {
		_ = d.Close() // the first error says what failed
		return nil, err
	}
	return d, nil
}

// makeFileSystem formats a volume that has no file system, unless it is staged read-only, and adds to its access list.
// That comes before the mount, so that no workload has written anything: a repeated call finds the root still empty.
func (o *op) makeFileSystem(s diskStep, volume winpath.VolumeID) (api.AccessResult, error) {
	fileSystem, err := o.fileSystem(volume)
	switch {
	case err != nil:
		return 0, err
	case fileSystem == "" && s.readOnly:
		return 0, errdefs.FailedPrecondition.Errorf(reason.NotFormatted, "no file system: volume %s", volume)
	case fileSystem == "":
		if err := o.formatVolume(volume, true); err != nil {
			return 0, err
		}
	}
	if len(s.access) == 0 || s.readOnly {
		return 0, nil
	}
	return o.addAccess(volume, s.access)
}
