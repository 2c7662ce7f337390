// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// nothingMounted is the text by which the AWS EBS driver tells "nothing is mounted there", which is no error to it,
// from every other failure of GetVolumeIDFromTargetPath.
const nothingMounted = "because it does not exist"

// GetVolumeIDFromTargetPath returns the volume that is mounted at a directory, or at the directory that links lead to.
// It answers from the mount point itself, so a volume whose disk has gone is still named. A path that is missing, or
// at which nothing is mounted, is NotFound with the text that drivers match on; no other failure has it.
func (v *Volumes) GetVolumeIDFromTargetPath(ctx context.Context, targetPath string) (string, error) {
	id, err := v.volumeIDFromTargetPath(ctx, targetPath)
	var failure *Error
	if errors.As(err, &failure) && failure.Reason != ReasonNotMounted && strings.Contains(failure.Message, nothingMounted) {
		quoted := *failure // the text can only stand in a path that the message quotes
		quoted.Message = strings.ReplaceAll(failure.Message, nothingMounted, "(…)")
		return "", &quoted
	}
	return id, err
}

func (v *Volumes) volumeIDFromTargetPath(ctx context.Context, targetPath string) (string, error) {
	path, err := v.targetPath(targetPath)
	if err != nil {
		return "", err
	}
	return read(ctx, v.calls, "GetVolumeIDFromTargetPath", func(o *op) (string, error) {
		links := maxLinks
		for at := path; ; {
			l, err := v.paths.openAt(o, at, &links)
			if missing(err) {
				return "", notMounted(path, err)
			}
			if err != nil {
				return "", fail(err, "looking for what is mounted at %s", path)
			}
			_ = l.Close()
			if l.reparse == nil {
				return "", notMounted(path, nil)
			}
			if id, ok := l.mountedVolume(); ok {
				return id.String(), nil
			}
			if at, err = v.paths.linkTarget(l, at, &links); err != nil {
				return "", err
			}
		}
	})
}

func notMounted(path winpath.Path, err error) error {
	return &Error{
		Class: NotFound, Reason: ReasonNotMounted, Err: err,
		Message: fmt.Sprintf("cannot get the volume for %s: no volume is mounted there %s", path, nothingMounted),
	}
}

// openAt opens what a path names, as itself.
func (p *paths) openAt(o *op, path winpath.Path, links *int) (*leaf, error) {
	pl, err := p.locateWithin(o, path, walk{}, links)
	if err != nil {
		return nil, err
	}
	l, err := pl.openLeaf(o, 0)
	if pl.name == "" && err == nil {
		l.Handle = owned{l.Handle, pl} // the working directory itself: its handle is the place's
		return l, nil
	}
	pl.close()
	return l, err
}

// linkTarget is where a link that was found at a path leads, which has to be acceptable itself.
func (p *paths) linkTarget(l *leaf, at winpath.Path, links *int) (winpath.Path, error) {
	if *links--; *links < 0 {
		return winpath.Path{}, errorf(FailedPrecondition, ReasonLinkRefused, "%s: more than %d links on the way", at, maxLinks)
	}
	target, err := targetOf(l.reparse)
	switch {
	case err != nil:
		return winpath.Path{}, errorf(FailedPrecondition, ReasonLinkRefused, "the link %s is not followed: %v", at, err)
	case target.Kind == winpath.TargetUNC:
		return winpath.Path{}, errorf(FailedPrecondition, ReasonLinkRefused, "the link %s leads to a network share, not to a volume", at)
	case target.Kind == winpath.TargetRelative:
		return winpath.Path{}, errorf(FailedPrecondition, ReasonLinkRefused, "the link %s is not followed: it is a relative link", at)
	case target.Kind == winpath.TargetVolume:
		return winpath.Path{}, errorf(FailedPrecondition, ReasonLinkRefused, "the link %s leads into a volume by its name and is not followed", at)
	}
	if _, _, err := p.dirs.Check(target.Path); err != nil {
		return winpath.Path{}, errorf(FailedPrecondition, ReasonLinkRefused, "the link %s is not followed: %v", at, err)
	}
	return target.Path, nil
}

// follow opens what a path leads to, through links and into a mounted volume.
func (p *paths) follow(o *op, path winpath.Path) (*leaf, error) {
	links := maxLinks
	for at := path; ; {
		l, err := p.openAt(o, at, &links)
		if err != nil || l.reparse == nil {
			return l, err
		}
		_ = l.Close()
		target, err := targetOf(l.reparse)
		if err == nil && target.Kind == winpath.TargetVolume {
			root, err := p.enterVolume(o, target, walk{})
			if err != nil {
				return nil, err
			}
			return openedLeaf(root)
		}
		if at, err = p.linkTarget(l, at, &links); err != nil {
			return nil, err
		}
	}
}

// GetClosestVolumeIDFromTargetPath returns the volume that holds what a path leads to, mounted at it or above it: in
// the end the volume of the drive. A missing path is NotFound; a path on a network share is on no volume.
func (v *Volumes) GetClosestVolumeIDFromTargetPath(ctx context.Context, targetPath string) (string, error) {
	path, err := v.targetPath(targetPath)
	if err != nil {
		return "", err
	}
	return read(ctx, v.calls, "GetClosestVolumeIDFromTargetPath", func(o *op) (string, error) {
		l, err := v.paths.follow(o, path)
		if missing(err) {
			return "", &Error{Class: NotFound, Reason: ReasonPathNotFound, Err: err, Message: path.String() + " is not there: neither it nor a volume that holds it can be named"}
		}
		if err != nil {
			return "", fail(err, "looking for the volume that holds %s", path)
		}
		defer l.Close()
		final, err := l.FinalPath(win32.VOLUME_NAME_GUID)
		if err != nil && onShare(l) {
			return "", &Error{Class: FailedPrecondition, Reason: "ON_SHARE", Err: err, Message: path.String() + " lies on a network share, not on a volume"}
		}
		if err != nil {
			return "", fail(err, "asking which volume holds %s", path)
		}
		const nameLength = len(`\\?\Volume{00000000-0000-0000-0000-000000000000}\`)
		id, err := winpath.ParseVolumeID(final[:min(len(final), nameLength)])
		if err != nil {
			return "", fail(err, "asking which volume holds %s", path)
		}
		return id.String(), nil
	})
}
