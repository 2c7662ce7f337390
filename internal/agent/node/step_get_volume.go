// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"

	api "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// The bounds of reason.NearlyFull, and the reason of a volume that must be repaired.
const (
	damaged         = "DISK_CORRUPT"
	nearlyFullPart  = 20
	nearlyFullBytes = 1 << 30
)

// GetVolume returns the sizes and the state of the volume or the share at target_path, as the proto says. It changes
// nothing.
func (s *Steps) GetVolume(ctx context.Context, r *api.GetVolumeRequest) (*api.GetVolumeResponse, error) {
	return runOf(ctx, s.node, "GetVolume", r.GetTargetPath(), s.node.targetPath, operation.Path,
		func(o *op, path winpath.Path) (*api.GetVolumeResponse, error) {
			found, err := o.statOf(path)
			if err != nil {
				return nil, err
			}
			at, end, err := o.fs.ResolveFrom(found, path)
			switch {
			case errdefs.IsMissing(err), errdefs.HasReason(err, reason.LinkRefused):
				return abnormal(errdefs.NotFound, reason.NotMounted, "what %s leads to cannot be reached: %v", path, err), nil
			case err != nil:
				return nil, errdefs.Errorf(err, "looking for what is mounted at %s", path)
			}
			if id, ok := end.MountedVolume(); ok {
				v, err := o.volumeState(id, path)
				if err == nil {
					v.VolumeId = id.String()
				}
				return v, err
			}
			if share, ok := end.Share(); ok {
				return o.shareState(share, at, path)
			}
			return abnormal(errdefs.NotFound, reason.NotMounted, "neither a volume nor a share is mounted at %s", path), nil
		})
}

func abnormal(class errdefs.Class, why, format string, args ...any) *api.GetVolumeResponse {
	return &api.GetVolumeResponse{Abnormal: true, Reason: why, Code: int32(class), Message: fmt.Sprintf(format, args...)}
}

// volumeState asks the volume for its sizes, and its disks only if it has none to give.
func (o *op) volumeState(id winpath.VolumeID, path winpath.Path) (*api.GetVolumeResponse, error) {
	usage, err := o.volumeUsage(id)
	switch {
	case err == nil && usage.Total == 0:
		return abnormal(errdefs.FailedPrecondition, reason.NotFormatted,
			"volume %s, mounted at %s, has no file system that Windows knows", id, path), nil
	case err == nil:
		return stateOf("volume", usage, path), nil
	case errdefs.HasCode(err, win32.ERROR_DISK_CORRUPT, win32.ERROR_FILE_CORRUPT):
		return abnormal(errdefs.FailedPrecondition, damaged, "%v", err), nil
	case errdefs.HasReason(err, reason.NotAnswering):
		return abnormal(errdefs.Unavailable, reason.NotAnswering, "the volume at %s: %v", path, err), nil
	}
	gone := errdefs.HasReason(err, reason.VolumeNotFound, reason.VolumeGone)
	if !gone {
		_, err := o.volumeExtents(id)
		gone = errdefs.HasReason(err, reason.VolumeNotFound, reason.VolumeGone)
	}
	if gone {
		return abnormal(errdefs.NotFound, reason.DiskNotFound,
			"the disk of volume %s, mounted at %s, is gone or offline", id, path), nil
	}
	return nil, err
}

// shareState asks a share's server for the sizes. If only they cannot be had, the share itself is asked once more.
func (o *op) shareState(share winpath.UNC, at, path winpath.Path) (*api.GetVolumeResponse, error) {
	usage, err := o.shareUsage(share, at)
	switch {
	case err == nil:
		return stateOf("share", usage, path), nil
	case errdefs.HasReason(err, reason.Policy), o.run.Context.Err() != nil: // the share may be well
		return nil, err
	case errdefs.HasReason(err, reason.NotAnswering), unreachable(err):
		return abnormal(errdefs.Unavailable, reason.NotAnswering, "the share at %s: %v", path, err), nil
	case errdefs.HasReason(err, reason.LinkRefused), errdefs.IsMissing(err):
		return abnormal(errdefs.NotFound, reason.NotMounted, "the share at %s: %v", path, err), nil
	}
	if o.askShare(share, at) == nil {
		return &api.GetVolumeResponse{Code: int32(errdefs.Unavailable),
			Message: fmt.Sprintf("the share at %s answers, without its sizes: %v", path, err)}, nil
	}
	class, why := errdefs.NotFound, reason.NotMounted
	if e := (*errdefs.Error)(nil); errors.As(err, &e) {
		class, why = e.Class, e.Reason
	}
	return abnormal(class, why, "the share at %s: %v", path, err), nil
}

// stateOf returns the state of what has told its sizes.
func stateOf(what string, usage Usage, path winpath.Path) *api.GetVolumeResponse {
	v := &api.GetVolumeResponse{Message: "the " + what + " is mounted"}
	if usage.Available < nearlyFullBytes && usage.Available < usage.Total/nearlyFullPart {
		v = abnormal(0, reason.NearlyFull, "%d of %d bytes are available at %s", usage.Available, usage.Total, path)
	}
	v.TotalBytes, v.UsedBytes, v.AvailableBytes = usage.Total, usage.Used, usage.Available
	return v
}
