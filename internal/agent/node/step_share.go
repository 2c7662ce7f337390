// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"errors"
	"strings"

	api "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/records"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winfs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// StageShare maps a share and makes target_path a link to remote_path, as the proto says. It records the share's user.
func (s *Steps) StageShare(ctx context.Context, r *api.StageShareRequest) (*api.StageShareResponse, error) {
	password := Secret(r.GetPassword())
	r.Password = "" // its memory cannot be wiped, but nothing refers to it once the step has run
	share, target, err := s.parseStageShare(r, password)
	if err != nil {
		password.Wipe()
		return nil, err
	}
	what := stepAt("StageShare", target, r)
	what.Arguments = r.GetRemotePath()
	what.Credentials = s.node.operations.CredentialKey(r.GetUsername(), password)
	what.Cleanup = password.Wipe
	return changeTo(ctx, s.node, what, func(o *op) (*api.StageShareResponse, error) {
		return &api.StageShareResponse{}, o.stageShare(share, target, r.GetUsername(), password)
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
	target, err = s.node.stepTarget(r.GetTargetPath(), "made a link")
	return share, target, err
}

func (o *op) stageShare(share winpath.UNC, target winpath.Path, user string, password Secret) error {
	log := o.node.records
	there, err := log.Get(records.Use, target.String())
	if err == nil && winpath.Fold(there.Remote) != winpath.Fold(share.String()) {
		if err := o.unstageShare(there, target, true); err != nil {
			return err
		}
		there, err = log.Get(records.Use, target.String())
	}
	switch {
	case err == nil && winpath.Fold(there.Remote) != winpath.Fold(share.String()):
		return errdefs.AlreadyExists.Errorf(reason.PathExists, "path exists: %s is staged at %s", there.Remote, target)
	case err != nil && !errors.Is(err, records.ErrNone):
		return recordError(err)
	}
	first := err != nil
	key := winfs.ShareKey(share.Server, share.Share)
	unlock, err := log.Lock(o.run.Context, key)
	if err != nil {
		return recordError(err)
	}
	defer unlock()
	// The record comes first: a crash between a mapping and its record would leave the mapping behind.
	if err := log.Put(records.Use, records.Record{Remote: share.String(), Target: target.String()}); err != nil {
		return recordError(err)
	}
	return o.run.Phase(func() error {
		err := o.linkShare(share, target, user, password)
		if err == nil || !first { // an earlier call may have mapped it
			return err
		}
		if mapping, failure := o.fs.Mapping(key); failure == nil && mapping == nil {
			return errors.Join(err, log.Remove(records.Use, target.String()))
		}
		return err
	}, operation.Share(key))
}

// linkShare maps a share unless it is mapped, and makes a link to it. A link or an empty directory there is replaced.
func (o *op) linkShare(share winpath.UNC, target winpath.Path, user string, password Secret) error {
	if err := o.makeParents(target); err != nil {
		return err
	}
	link := *linkToShare(target, share)
	possible := func() error { return o.fs.LinkPossible(link, o.node.lacks(createSymbolicLink)) }
	err := possible()
	if errdefs.HasReason(err, reason.PathExists) {
		if err = o.removeEmpty(target); err == nil {
			err = possible()
		}
	}
	if err != nil {
		return err
	}
	if err := o.ensureMapped(share, user, password); err != nil {
		return err
	}
	return o.fs.MakeLink(link)
}

// unstageShare removes the link at a target, then the mapping of its share if nothing else uses it, then the record.
// With onlyIfGone, it does nothing while a link is there.
func (o *op) unstageShare(use records.Record, target winpath.Path, onlyIfGone bool) error {
	key := keyOf(use.Remote)
	unlock, err := o.node.records.Lock(o.run.Context, key)
	if err != nil {
		return recordError(err)
	}
	defer unlock()
	if onlyIfGone {
		if there, err := o.linked(target); err != nil || there {
			return err
		}
	} else if err := o.removeEmpty(target); err != nil {
		return err
	}
	return o.leaveShare(key, target)
}

// CleanShares leaves the shares of recorded targets whose links are gone, as after a death in StageShare of a volume
// that kubelet never asked for again. The agent calls it when it starts. While a working directory cannot be used it
// does nothing: links there would look gone.
func (s *Steps) CleanShares(ctx context.Context) error {
	if s.node.records == nil {
		return nil
	}
	uses, err := s.node.records.Uses()
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
		errs = append(errs, s.node.change(ctx, what, func(o *op) error { return o.unstageShare(use, target, true) }))
	}
	return errors.Join(errs...)
}

// leaveShare removes the mapping of a share if nothing but a target without a link uses it, and then the record. The
// key is empty if the agent would map no share of the record's name. While records cannot be read, both stay for a
// later call that leaves the share: an extra mapping is better than a pod without its share.
func (o *op) leaveShare(key string, target winpath.Path) error {
	log := o.node.records
	all, err := log.Uses()
	if err != nil {
		o.log().Error(err, "The mapping of a share is kept, as its users are not known", "share", key)
		return nil
	}
	users, err := o.unrestricted().shareUsers(key, target, all)
	if err != nil {
		return err
	}
	if len(users) > 0 {
		return recordError(log.Remove(records.Use, target.String()))
	}
	if key != "" {
		if err := o.run.Phase(func() error { return o.unmap(key) }, operation.Share(key)); err != nil {
			return err
		}
	}
	err = log.Remove(records.Use, target.String())
	for _, u := range all { // those of failed stages, too: what they may have mapped is gone
		if keyOf(u.Remote) == key {
			err = errors.Join(err, log.Remove(records.Use, u.Target))
		}
	}
	return recordError(err)
}

// keyOf returns the key of the share of a remote path, empty if the path has none.
func keyOf(remote string) string {
	share, err := winpath.ParseUNC(remote)
	if err != nil {
		return ""
	}
	return winfs.ShareKey(share.Server, share.Share)
}

// shareUsers returns the other targets that use a share: recorded ones whose link is there, and links of kubelet's.
func (o *op) shareUsers(key string, but winpath.Path, recorded []records.Record) (users []string, err error) {
	seen := map[string]bool{but.Key(): true}
	for _, u := range recorded {
		target, err := o.node.targetPath(u.Target)
		if keyOf(u.Remote) != key || seen[target.Key()] {
			continue
		}
		there := err != nil // it lies in no working directory any more
		if !there {
			there, err = o.linked(target)
		}
		if err != nil && !there {
			return nil, err
		}
		if there {
			seen[target.Key()] = true
			users = append(users, u.Target)
		}
	}
	for _, place := range kubeletPlaces() {
		paths, err := o.below(o.node.policy.Dirs()[0], strings.Split(place, `\`))
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			at, err := o.statOf(path)
			if isAbsent(err) || seen[path.Key()] {
				continue
			}
			if err != nil {
				return nil, err
			}
			if target, is := at.Share(); is && winfs.ShareKey(target.Server, target.Share) == key {
				users = append(users, path.String())
			}
		}
	}
	return users, nil
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

// kubeletPlaces are where kubelet has drivers stage and publish volumes, below the first working directory.
func kubeletPlaces() []string {
	return []string{`plugins\kubernetes.io\csi\*\*\globalmount`, `pods\*\volumes\kubernetes.io~csi\*\mount`}
}

// isAbsent reports whether no directory of kubelet's is at a path. Those do not lie behind links or on volumes.
func isAbsent(err error) bool {
	return errdefs.HasReason(err, reason.PathNotFound, reason.NotADirectory, reason.VolumeGone, reason.LinkRefused)
}

// below returns the paths that a place has below a directory. A * stands for every name. A name that cannot be read is
// an error: a volume that is passed over would count as gone.
func (o *op) below(dir winpath.Path, place []string) (found []winpath.Path, err error) {
	for len(place) > 0 && place[0] != "*" {
		if dir, err = dir.Join(place[0]); err != nil {
			return nil, err
		}
		place = place[1:]
	}
	if len(place) == 0 {
		return []winpath.Path{dir}, nil
	}
	names, err := o.contents(dir)
	if isAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		path, err := dir.Join(name)
		if err != nil {
			continue // no call of ours accepts this name
		}
		more, err := o.below(path, place[1:])
		if err != nil {
			return nil, err
		}
		found = append(found, more...)
	}
	return found, nil
}
