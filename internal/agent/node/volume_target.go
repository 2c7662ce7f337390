// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"strings"

	api "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// nothingMounted is the text by which the AWS EBS driver distinguishes "nothing is mounted there", which it does not
// treat as an error, from every other failure of GetVolumeIDFromTargetPath.
const nothingMounted = "because it does not exist"

// GetVolumeIDFromTargetPath returns the volume that is mounted at a path, as the proto says.
func (v *Volumes) GetVolumeIDFromTargetPath(ctx context.Context,
	r *api.GetVolumeIDFromTargetPathRequest) (*api.GetVolumeIDFromTargetPathResponse, error) {
	answer, err := runOf(ctx, v.node, "GetVolumeIDFromTargetPath", r.GetTargetPath(), v.node.targetPath, operation.Path,
		func(o *op, path winpath.Path) (*api.GetVolumeIDFromTargetPathResponse, error) {
			id, err := o.volumeMountedAt(path)
			return &api.GetVolumeIDFromTargetPathResponse{VolumeId: id.String()}, err
		})
	var failure *errdefs.Error
	if errors.As(err, &failure) && failure.Reason != reason.NotMounted &&
		strings.Contains(failure.Message, nothingMounted) {
		quoted := *failure // only a path in the message can contain the text
		quoted.Message = strings.ReplaceAll(failure.Message, nothingMounted, "(…)")
		return nil, &quoted
	}
	return answer, err
}

func (o *op) volumeMountedAt(path winpath.Path) (winpath.VolumeID, error) {
	at, s, err := o.fs.Resolve(path)
	switch {
	case errdefs.IsMissing(err):
		return winpath.VolumeID{}, notMounted(path, err)
	case err != nil:
		return winpath.VolumeID{}, errdefs.Errorf(err, "looking for what is mounted at %s", path)
	case s.Reparse == nil:
		return winpath.VolumeID{}, notMounted(path, nil)
	}
	if id, ok := s.MountedVolume(); ok {
		return id, nil
	}
	return winpath.VolumeID{}, winfs.LeadsToShare(at)
}

func notMounted(path winpath.Path, err error) error {
	return errdefs.NotFound.WrapErrorf(err, reason.NotMounted,
		"cannot get the volume for %s: no volume is mounted there %s", path, nothingMounted)
}

// GetClosestVolumeIDFromTargetPath returns the volume that holds what a path leads to, as the proto says; a path on a
// share is on no volume.
func (v *Volumes) GetClosestVolumeIDFromTargetPath(ctx context.Context,
	r *api.GetClosestVolumeIDFromTargetPathRequest) (*api.GetClosestVolumeIDFromTargetPathResponse, error) {
	return runOf(ctx, v.node, "GetClosestVolumeIDFromTargetPath", r.GetTargetPath(), v.node.targetPath, operation.Path,
		func(o *op, path winpath.Path) (*api.GetClosestVolumeIDFromTargetPathResponse, error) {
			id, err := o.volumeHolding(path)
			return &api.GetClosestVolumeIDFromTargetPathResponse{VolumeId: id}, err
		})
}

func (o *op) volumeHolding(path winpath.Path) (string, error) {
	loc, l, err := o.fs.Follow(path)
	if errdefs.IsMissing(err) {
		return "", errdefs.NotFound.WrapErrorf(err, reason.PathNotFound, "%s is not there, so no volume holds it", path)
	}
	if err != nil {
		return "", errdefs.Errorf(err, "looking for the volume that holds %s", path)
	}
	defer loc.Close()
	final, err := l.FinalPath(win32.VOLUME_NAME_GUID)
	if err != nil && winfs.OnShare(l) {
		return "", errdefs.FailedPrecondition.WrapErrorf(err, reason.OnShare,
			"%s lies on a network share, not on a volume", path)
	}
	if err != nil {
		return "", errdefs.Errorf(err, "asking which volume holds %s", path)
	}
	const nameLength = len(`\\?\Volume{00000000-0000-0000-0000-000000000000}\`)
	id, err := winpath.ParseVolumeID(final[:min(len(final), nameLength)])
	return id.String(), errdefs.Errorf(err, "asking which volume holds %s", path)
}
