// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"slices"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	api "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/records"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// StageShare maps a share and makes target_path a link to remote_path, as the proto says. It records the share's user.
func (s *Steps) StageShare(ctx context.Context, r *api.StageShareRequest) (*api.StageShareResponse, error) {
	password := Secret(r.GetPassword())
	share, target, err := s.parseStageShare(r, password)
	if err != nil {
		return nil, err
	}
	what := stepAt("StageShare", target, r)
	what.Arguments = r.GetRemotePath()
	what.Credentials = s.node.operations.CredentialKey(r.GetUsername(), password)
	return &api.StageShareResponse{}, s.node.do(ctx, what, func(o *op) error {
		return o.stageShare(share, target, r.GetUsername(), password)
	})
}

func (s *Steps) parseStageShare(r *api.StageShareRequest, password Secret) (share winpath.UNC, target winpath.Path,
	err error) {
	if s.node.records == nil {
		return share, target, errdefs.FailedPrecondition.Errorf(reason.NoRecords,
			"this agent cannot record the users of a share: it has no directory for records; see its log")
	}
	if err = shortTexts(r.GetRemotePath()); err != nil {
		return share, target, err
	}
	if share, err = parseShare(r.GetRemotePath()); err != nil {
		return share, target, err
	}
	if err = checkCredentials(r.GetUsername(), password); err != nil {
		return share, target, err
	}
	target, err = s.node.mayTake(s.node.targetPath, r.GetTargetPath(), "made a link")
	return share, target, err
}

func (o *op) stageShare(share winpath.UNC, target winpath.Path, user string, password Secret) error {
	log := o.node.records
	there, err := log.Get(records.Use, target.String())
	if err == nil && winpath.Fold(there.Remote) != winpath.Fold(share.String()) {
		if err := o.leaveShare(there, target); err != nil {
			return err
		}
		there, err = log.Get(records.Use, target.String())
	}
	switch {
	case err == nil && winpath.Fold(there.Remote) != winpath.Fold(share.String()):
		return errdefs.AlreadyExists.Errorf(reason.PathExists, "path exists: %s is staged at %s", there.Remote, target)
	case err != nil && !errors.Is(err, records.ErrNone): // whatever share it was, its mapping stays
		o.log().Error(err, "The record of a share is replaced", "path", target)
	}
	first := err != nil
	return o.onShare(share.Key(), target, func(s *sharing) error {
		// The record comes first: a crash between a mapping and its record would leave the mapping behind.
		if err := log.Put(records.Use, records.Record{Remote: share.String(), Target: target.String()}); err != nil {
			return recordError(err)
		}
		err := s.linkShare(share, target, user, password)
		if err == nil || !first {
			return err
		}
		if mapping, failure := s.look(); failure == nil && (mapping == nil || s.known.Made != records.Made) {
			return errors.Join(err, log.Remove(records.Use, target.String())) // an Unstage would do nothing else
		}
		return err
	})
}

// onShare is withShare for a step, which holds the lock of its target.
func (o *op) onShare(key string, target winpath.Path, f func(s *sharing) error) error {
	return o.run.Phase(func() error { return o.withShare(key, target, f) }, operation.Share(key))
}

// linkShare maps a share unless it is mapped, and makes a link to it.
func (s *sharing) linkShare(share winpath.UNC, target winpath.Path, user string, password Secret) error {
	link := *linkToShare(target, share)
	if err := s.linkAt(target, func() error {
		return s.fs.LinkPossible(link, s.node.lacks(createSymbolicLink))
	}); err != nil {
		return err
	}
	if err := s.ensureMapped(share, user, password); err != nil {
		return err
	}
	return s.fs.MakeLink(link)
}

// leaveShare ends the use of a share by a target, unless a link is there.
func (o *op) leaveShare(use records.Record, target winpath.Path) error {
	return o.onShare(keyOf(use.Remote), target, (*sharing).leave)
}

// CleanShares leaves the shares of recorded targets whose links are gone, as after a death in StageShare of a volume
// that kubelet never asked for again, and forgets shares that are not mapped. The agent calls it at its start. While a
// working directory cannot be used it leaves none: links there would look gone.
func (s *Steps) CleanShares(ctx context.Context) error {
	if s.node.records == nil {
		return nil
	}
	return errors.Join(s.leaveLost(ctx), s.forgetUnmapped(ctx))
}

func (s *Steps) leaveLost(ctx context.Context) error {
	uses, err := s.node.records.All(records.Use)
	if err != nil || len(uses) == 0 {
		return recordError(err)
	}
	unusable, err := s.node.Filesystem.UnusableDirectories(ctx)
	if err != nil || len(unusable) > 0 {
		return err
	}
	var errs []error
	for _, use := range uses {
		target, err := s.node.targetPath(use.Target)
		if err != nil { // it lies in no working directory any more
			continue
		}
		what := operation.On("CleanShares", operation.Path(target))
		errs = append(errs, s.node.change(ctx, what, func(o *op) error { return o.leaveShare(use, target) }))
	}
	return errors.Join(errs...)
}

func (s *Steps) forgetUnmapped(ctx context.Context) error {
	known, err := s.node.records.All(records.Mapping)
	if err != nil || len(known) == 0 {
		return recordError(err)
	}
	mapped, err := s.node.SMB.Mappings(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, k := range known {
		key := k.Share
		if slices.ContainsFunc(mapped, func(m *admin.SMBMapping) bool { return keyOf(m.GetRemotePath()) == key }) {
			continue
		}
		look := func(s *sharing) error { _, err := s.look(); return err } // which forgets what is not mapped
		what := operation.On("CleanShares", operation.Share(key))
		errs = append(errs, s.node.change(ctx, what,
			func(o *op) error { return o.withShare(key, winpath.Path{}, look) }))
	}
	return errors.Join(errs...)
}

// keyOf returns the key of the share of a remote path, empty if the path has none.
func keyOf(remote string) string {
	share, err := winpath.ParseUNC(remote)
	if err != nil {
		return ""
	}
	return share.Key()
}

// linked reports whether a link is at the path of a staged share, or a mounted volume. Kubelet's directory, which it
// makes before it asks for the share, does not count. No server is asked.
func (o *op) linked(path winpath.Path) (bool, error) {
	at, err := o.statOf(path)
	switch {
	case errdefs.HasReason(err, reason.PathNotFound):
		return false, nil
	case errdefs.HasReason(err, reason.LinkRefused): // on the way
		return true, nil
	}
	return at.Reparse != nil, err
}
