// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"slices"

	api "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// MountVolume mounts a volume at a directory, as the proto says.
func (v *Volumes) MountVolume(ctx context.Context, r *api.MountVolumeRequest) (*api.MountVolumeResponse, error) {
	return &api.MountVolumeResponse{}, v.atTarget(ctx, "MountVolume", r, (*op).mountVolume)
}

// UnmountVolume flushes a volume and unmounts it from a directory, as the proto says. A missing directory is success.
func (v *Volumes) UnmountVolume(ctx context.Context, r *api.UnmountVolumeRequest) (*api.UnmountVolumeResponse, error) {
	return &api.UnmountVolumeResponse{}, v.atTarget(ctx, "UnmountVolume", r,
		func(o *op, id winpath.VolumeID, path winpath.Path) error {
			if err := o.node.policy.NotKept(path, "unmounted"); err != nil {
				return err
			}
			return o.unmountVolume(id, path)
		})
}

func (v *Volumes) atTarget(ctx context.Context, verb string, r interface {
	GetVolumeId() string
	GetTargetPath() string
}, f func(o *op, id winpath.VolumeID, path winpath.Path) error) error {
	id, err := parseVolumeID(r.GetVolumeId())
	if err != nil {
		return err
	}
	path, err := v.node.targetPath(r.GetTargetPath())
	if err != nil {
		return err
	}
	what := operation.On(verb, operation.Path(path), operation.Volume(id))
	what.Undoes = verb == "UnmountVolume"
	return v.node.do(ctx, what, func(o *op) error { return f(o, id, path) })
}

func (o *op) mountVolume(id winpath.VolumeID, path winpath.Path) error {
	if err := o.node.policy.MayTake(path, "mounted over"); err != nil {
		return err
	}
	extents, err := o.lockDisks(id) // before making a directory for a volume that is not there
	if err != nil {
		return err
	}
	if err := o.refuseSystemExtents(id, extents, "mounted elsewhere"); err != nil {
		return err
	}
	loc, err := o.fs.Locate(path, winfs.Walk{Create: true, Pin: true})
	if err != nil {
		return err
	}
	defer loc.Close()
	if loc.InShare() {
		return errdefs.FailedPrecondition.Errorf(reason.OnShare,
			"%s lies on a network share; volumes are mounted only at local directories", path)
	}
	directory, err := loc.MakeDirectory()
	if err != nil {
		return err
	}
	if directory.Reparse != nil {
		return o.alreadyMounted(directory, id, path)
	}
	return o.setMountPoint(loc, directory, id)
}

// lockDisks locks the disks of a volume and returns its extents. Otherwise a disk could go offline while a mount of its
// volume runs, and a caller that joins the mount later would be told that a missing volume is mounted.
func (o *op) lockDisks(id winpath.VolumeID) (extents, error) {
	before, err := o.volumeExtents(id)
	if err != nil {
		return nil, err
	}
	var objects []operation.Object
	for _, number := range before.disks() {
		objects = append(objects, operation.Disk(number))
	}
	if err := o.run.Lock(objects...); err != nil {
		return nil, err
	}
	// Disk numbers are reused after disks are removed.
	after, err := o.volumeExtents(id)
	if err == nil && !slices.Equal(before.disks(), after.disks()) {
		err = errdefs.Unavailable.Errorf(reason.DiskChanged, "volume %s moved from disks %d to disks %d; try again", id,
			before.disks(), after.disks())
	}
	return after, err
}

// alreadyMounted decides about a directory that was a mount point or link before this call.
func (o *op) alreadyMounted(directory *winfs.File, id winpath.VolumeID, path winpath.Path) error {
	there, ok := directory.MountedVolume()
	if !ok {
		return errdefs.FailedPrecondition.Errorf(reason.LinkRefused,
			"%s is a link, not an empty directory; remove it before mounting", path)
	}
	if !o.sameVolume(there, id) {
		return errdefs.FailedPrecondition.Errorf(reason.OtherVolumeMounted,
			"volume %s cannot be mounted at %s: volume %s is mounted there", id, path, there)
	}
	return nil
}

// sameVolume reports whether two volume names mean the same volume: the mount manager may know it under several names.
func (o *op) sameVolume(a, b winpath.VolumeID) bool {
	if a == b {
		return true
	}
	extentsA, errA := o.volumeExtents(a)
	extentsB, errB := o.volumeExtents(b)
	if errA != nil || errB != nil { // a volume that is gone has no other name
		return false
	}
	return len(extentsA) == 1 && len(extentsB) == 1 && extentsA[0] == extentsB[0]
}

func (o *op) unmountVolume(id winpath.VolumeID, path winpath.Path) error {
	loc, l, err := o.fs.OpenAt(path, winfs.Walk{Pin: true}, win32.FILE_WRITE_ATTRIBUTES)
	if errdefs.IsMissing(err) {
		return nil
	}
	if err != nil {
		return errdefs.Errorf(err, "opening %s", path)
	}
	defer loc.Close()
	if l.Reparse == nil {
		return nil
	}
	there, ok := l.MountedVolume()
	if !ok {
		return errdefs.FailedPrecondition.Errorf(reason.LinkRefused,
			"%s is a link, not a mounted volume; remove it with Rmdir", path)
	}
	if !o.sameVolume(there, id) {
		return otherVolumeMounted(id, path, there)
	}
	if err := o.fs.FlushBeforeUnmount(there); err != nil {
		return err
	}
	for {
		// The flush may have taken long, and an administrator may have mounted another volume meanwhile.
		if l.Reparse, err = winfs.ReadReparsePoint(l.Handle); err != nil {
			return errdefs.Errorf(err, "looking at %s again", path)
		}
		now, ok := l.MountedVolume()
		switch {
		case l.Reparse == nil:
			return nil
		case !ok:
			return errdefs.FailedPrecondition.Errorf(reason.LinkRefused,
				"%s has become a link, not a mounted volume; remove it with Rmdir", path)
		case now != there:
			return otherVolumeMounted(id, path, now)
		}
		text, err := o.fs.RetryBusy(l, o.kernel.DeleteVolumeMountPoint)
		if !errors.Is(err, winfs.ErrReplaced) {
			return o.fs.RemovedMountPoint(l, text, path.String(), err)
		}
	}
}

func otherVolumeMounted(id winpath.VolumeID, path winpath.Path, there winpath.VolumeID) error {
	return errdefs.FailedPrecondition.Errorf(reason.OtherVolumeMounted,
		"volume %s cannot be unmounted from %s: volume %s is mounted there", id, path, there)
}

// setMountPoint mounts a volume at the directory at a pinned location. If Windows takes the handle that pins the
// directory for a sharing violation, only the way to it stays pinned, and what is there afterwards decides.
func (o *op) setMountPoint(loc *winfs.Location, directory *winfs.File, id winpath.VolumeID) error {
	set := func(text string) error { return o.kernel.SetVolumeMountPoint(text, id.String()) }
	text, err := o.fs.RetryBusy(directory, set)
	pinned := !errdefs.HasCode(err, win32.ERROR_SHARING_VIOLATION)
	if !pinned {
		loc.Release(directory.Handle)
		err = o.run.RetryShared(func() error { return set(text) })
	}
	switch {
	case errdefs.HasCode(err, win32.ERROR_DIR_NOT_EMPTY):
		return errdefs.FailedPrecondition.Errorf(reason.DirectoryNotEmpty,
			"%s is not empty, so nothing is mounted over it", loc.Path)
	case err != nil:
		return errdefs.Errorf(err, "mounting volume %s at %s", id, loc.Path)
	case !pinned:
		return o.verifyMounted(loc, id)
	}
	return nil
}

// verifyMounted fails if a volume that was just mounted is not at the location. A volume mounted elsewhere is not
// unmounted by its path, which may lead elsewhere again.
func (o *op) verifyMounted(loc *winfs.Location, id winpath.VolumeID) error {
	l, err := loc.Open(0)
	if err != nil && !errdefs.IsMissing(err) {
		return errdefs.Errorf(err, "looking whether volume %s is mounted at %s", id, loc.Path)
	}
	why, there := reason.NotMounted, "no volume"
	if err == nil {
		other, ok := l.MountedVolume()
		switch {
		case ok && o.sameVolume(other, id):
			return nil
		case ok:
			why, there = reason.OtherVolumeMounted, "volume "+other.String()
		case l.Reparse != nil:
			there = "a link to " + l.Reparse.SubstituteName
		}
	}
	o.log().Info("A directory was replaced while a volume was mounted there",
		"path", loc.Path, "volume", id, "there", there)
	return errdefs.FailedPrecondition.Errorf(why,
		"%s was replaced while volume %s was mounted there, and has %s; mountvol shows where the volume is mounted",
		loc.Path, id, there)
}
