// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// nothingMounted is the text by which the AWS EBS driver distinguishes "nothing is mounted there", which it does not
// treat as an error, from every other failure of GetVolumeIDFromTargetPath.
const nothingMounted = "because it does not exist"

// GetVolumeIDFromTargetPath returns the volume that is mounted at a directory, or at the directory that links lead to.
// It answers from the mount point itself, so a volume whose disk has gone is still named. A path that is missing, or
// at which nothing is mounted, is NotFound with the text that drivers match on; no other failure has that text.
func (v *Volumes) GetVolumeIDFromTargetPath(ctx context.Context, targetPath string) (string, error) {
	id, err := v.volumeIDFromTargetPath(ctx, targetPath)
	var failure *errdefs.Error
	if errors.As(err, &failure) && failure.Reason != reason.NotMounted &&
		strings.Contains(failure.Message, nothingMounted) {
		quoted := *failure // only a path in the message can contain the text
		quoted.Message = strings.ReplaceAll(failure.Message, nothingMounted, "(…)")
		return "", &quoted
	}
	return id, err
}

func (v *Volumes) volumeIDFromTargetPath(ctx context.Context, targetPath string) (string, error) {
	path, err := v.node.targetPath(targetPath)
	if err != nil {
		return "", err
	}
	return read(ctx, v.node, operation.On("GetVolumeIDFromTargetPath", operation.Path(path)),
		func(o *op) (string, error) { return o.volumeMountedAt(path) })
}

func (o *op) volumeMountedAt(path winpath.Path) (string, error) {
	links := maxLinks
	for at := path; ; {
		s, err := o.stat(at, &links)
		if errdefs.IsMissing(err) {
			return "", notMounted(path, err)
		}
		if err != nil {
			return "", errdefs.Wrapf(err, "looking for what is mounted at %s", path)
		}
		if s.reparse == nil {
			return "", notMounted(path, nil)
		}
		if id, ok := s.mountedVolume(); ok {
			return id.String(), nil
		}
		if at, err = o.linkTarget(s, at, &links); err != nil {
			return "", err
		}
	}
}

func notMounted(path winpath.Path, err error) error {
	return errdefs.NotFound.Wrapf(err, reason.NotMounted,
		"cannot get the volume for %s: no volume is mounted there %s", path, nothingMounted)
}

// linkTarget returns the target of a link found at a path. The target must itself be acceptable to the path policy.
func (o *op) linkTarget(s stat, at winpath.Path, links *int) (winpath.Path, error) {
	if *links--; *links < 0 {
		return winpath.Path{}, errdefs.FailedPrecondition.Errorf(reason.LinkRefused, "%s: too many links on the way", at)
	}
	target, err := targetOf(s.reparse)
	switch {
	case err != nil:
		return winpath.Path{}, errdefs.FailedPrecondition.Errorf(reason.LinkRefused,
			"the link %s is not followed: %v", at, err)
	case target.Kind == winpath.TargetUNC:
		return winpath.Path{}, errdefs.FailedPrecondition.Errorf(reason.LinkRefused,
			"the link %s leads to a network share, not to a volume", at)
	case target.Kind == winpath.TargetRelative:
		return winpath.Path{}, errdefs.FailedPrecondition.Errorf(reason.LinkRefused,
			"the link %s is not followed: it is a relative link", at)
	case target.Kind == winpath.TargetVolume:
		return winpath.Path{}, errdefs.FailedPrecondition.Errorf(reason.LinkRefused,
			"the link %s leads into a volume by its name and is not followed", at)
	}
	if _, _, err := o.node.dirs.Check(target.Path); err != nil {
		return winpath.Path{}, errdefs.FailedPrecondition.Errorf(reason.LinkRefused,
			"the link %s is not followed: %v", at, err)
	}
	return target.Path, nil
}

// follow opens the object that a path leads to, through links and into a mounted volume.
func (o *op) follow(path winpath.Path) (*place, *leaf, error) {
	links := maxLinks
	for at := path; ; {
		pl, h, err := o.lookUp(at, &links)
		if err != nil {
			return nil, nil, err
		}
		l, err := lookAt(h)
		if err == nil && l.reparse == nil {
			return pl, l, nil
		}
		pl.close()
		if err != nil {
			return nil, nil, err
		}
		target, err := targetOf(l.reparse)
		if err == nil && target.Kind == winpath.TargetVolume {
			return o.rootOf(target)
		}
		if at, err = o.linkTarget(l.stat, at, &links); err != nil {
			return nil, nil, err
		}
	}
}

// rootOf opens the root of a mounted volume.
func (o *op) rootOf(target winpath.Target) (*place, *leaf, error) {
	root, err := o.enterVolume(target, walk{})
	if err != nil {
		return nil, nil, err
	}
	pl := &place{inVolume: true}
	pl.dir = pl.own(root)
	l, err := pl.open(o, 0)
	if err != nil {
		pl.close()
		return nil, nil, err
	}
	return pl, l, nil
}

// GetClosestVolumeIDFromTargetPath returns the volume that holds the object a path leads to. It is mounted at the path
// or at the closest directory above it, if need be the drive. A missing path is NotFound; a path on a network share is
// on no volume.
func (v *Volumes) GetClosestVolumeIDFromTargetPath(ctx context.Context, targetPath string) (string, error) {
	path, err := v.node.targetPath(targetPath)
	if err != nil {
		return "", err
	}
	return read(ctx, v.node, operation.On("GetClosestVolumeIDFromTargetPath", operation.Path(path)),
		func(o *op) (string, error) { return o.volumeHolding(path) })
}

func (o *op) volumeHolding(path winpath.Path) (string, error) {
	pl, l, err := o.follow(path)
	if errdefs.IsMissing(err) {
		return "", errdefs.NotFound.Wrapf(err, reason.PathNotFound, "%s is not there, so no volume holds it", path)
	}
	if err != nil {
		return "", errdefs.Wrapf(err, "looking for the volume that holds %s", path)
	}
	defer pl.close()
	final, err := l.FinalPath(win32.VOLUME_NAME_GUID)
	if err != nil && onShare(l) {
		return "", errdefs.FailedPrecondition.Wrapf(err, reason.OnShare, "%s lies on a network share, not on a volume", path)
	}
	if err != nil {
		return "", errdefs.Wrapf(err, "asking which volume holds %s", path)
	}
	const nameLength = len(`\\?\Volume{00000000-0000-0000-0000-000000000000}\`)
	id, err := winpath.ParseVolumeID(final[:min(len(final), nameLength)])
	if err != nil {
		return "", errdefs.Wrapf(err, "asking which volume holds %s", path)
	}
	return id.String(), nil
}
