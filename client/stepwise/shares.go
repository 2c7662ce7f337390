// SPDX-License-Identifier: Apache-2.0

package stepwise

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/client/calls"
)

// Shares keeps one mapping of each SMB share for all volumes of the node that use it, and removes the mapping with the
// last of them. The users of a share are recorded in a directory, which other processes may share. It is safe for
// concurrent use.
type Shares struct {
	mounter *Mounter
	records records
}

// Shares returns the shares whose users are recorded in a directory of this process, which is made.
func (m *Mounter) Shares(dir string) *Shares { return &Shares{mounter: m, records: records{dir}} }

// ErrNotStaged is in the error when no share is staged at a path.
var ErrNotStaged = errors.New("no share is staged there")

// Stage maps the share of a remote path, \\server\share or \\server\share\dir, if it is not mapped, and makes target a
// link to the remote path. It is Mounter.MountShare with the target recorded as a user of the share, and can be
// repeated after a failure or a crash anywhere. Another share that is staged at target is an error: Unstage it first.
// So is a directory with content.
//
// A mapping that works is kept, whatever the credentials; one that the server refuses, as after a reboot of the node or
// with a new password, is made again with these, and the volumes that use it go on. The errors are those of MountShare:
// csiproxy.ErrCredentials, ErrServerUnreachable, ErrShareNotFound, ErrOtherCredentials and others.
func (s *Shares) Stage(ctx context.Context, remote, target string, credentials Credentials) error {
	use := use{Remote: strings.TrimRight(WindowsPath(remote), `\`), Target: WindowsPath(target)}
	if use.share() == "" {
		return fmt.Errorf("%w: remote path %q does not begin with \\\\server\\share", fs.ErrInvalid, remote)
	}
	there, err := s.records.read(ctx, use.Target)
	if err == nil && !sameName(there.Remote, use.Remote) {
		if err := s.unstage(ctx, there, true); err != nil {
			return err
		}
		there, err = s.records.read(ctx, use.Target)
	}
	switch {
	case err == nil && !sameName(there.Remote, use.Remote):
		return fmt.Errorf("%w: %s is staged at %s", calls.ErrPathExists, there.Remote, use.Target)
	case err != nil && !errors.Is(err, ErrNotStaged):
		return err
	}
	first := err != nil
	return s.records.locked(ctx, use.share(), func() error {
		// The record comes first: a crash between a mapping and its record would leave the mapping behind.
		if err := s.records.write(ctx, use); err != nil {
			return err
		}
		err := s.mounter.LinkShare(ctx, use.Remote, use.Target, credentials, false)
		if refused(err) || first && notMapped(err) { // an earlier call may have mapped it
			err = errors.Join(err, s.records.remove(ctx, use.Target))
		}
		return err
	})
}

// Unstage removes the link at target, then the mapping of its share if nothing else uses it, then the record. It can be
// repeated after a failure or a crash anywhere; a target that is not staged is Mounter.Unmount. It needs no server.
func (s *Shares) Unstage(ctx context.Context, target string) error {
	target = WindowsPath(target)
	there, err := s.records.read(ctx, target)
	if errors.Is(err, ErrNotStaged) {
		_, err := s.mounter.unmount(ctx, target)
		return err
	}
	if err != nil {
		return err
	}
	return s.unstage(ctx, there, false)
}

// UnstageAny is Unstage for whatever is at a path: if no share is staged there, it is Mounter.UnmountDevice.
func (s *Shares) UnstageAny(ctx context.Context, target string) error {
	if _, err := s.Staged(ctx, target); errors.Is(err, ErrNotStaged) {
		return s.unmountDevice(ctx, target)
	}
	return s.Unstage(ctx, target)
}

// Staged returns the remote path that is staged at a path. None is ErrNotStaged.
func (s *Shares) Staged(ctx context.Context, target string) (remote string, err error) {
	there, err := s.records.read(ctx, WindowsPath(target))
	return there.Remote, err
}

// Users returns the targets of the node at which the share of a remote path, or a directory in it, is staged.
func (s *Shares) Users(ctx context.Context, remote string) ([]string, error) {
	return s.users(ctx, use{Remote: remote}.share(), "")
}

// unstage unstages a recorded use; if it is asked to, only one whose link is gone. Whether it is may change until the
// share is locked.
func (s *Shares) unstage(ctx context.Context, u use, ifGone bool) error {
	return s.records.locked(ctx, u.share(), func() error {
		if ifGone {
			there, err := s.mounter.linked(ctx, u.Target)
			if err != nil || there {
				return err
			}
		} else {
			// Without force, this removes no more than a link or an empty directory, and asks no server. It runs
			// even without a link: an abandoned call may still be about to make one, and this call waits for it.
			_, err := s.mounter.client.Filesystem.Rmdir(ctx, &calls.RmdirRequest{Path: u.Target})
			if err != nil && !errors.Is(err, calls.ErrPathNotFound) {
				return err
			}
		}
		users, err := s.users(ctx, u.share(), u.Target)
		if err != nil {
			return err
		}
		if len(users) == 0 {
			// A share of a name that the agent refuses was never mapped.
			if err := s.mounter.UnmapShare(ctx, u.share()); err != nil && !refused(err) {
				return err
			}
			return s.records.removeShare(ctx, u.share()) // those of failed stages, too: what they may have mapped is gone
		}
		return s.records.remove(ctx, u.Target)
	})
}

// Clean unstages the targets whose links are not there any more, as after a crash in Stage of a volume that kubelet
// never asked for again. A driver calls it when it starts.
func (s *Shares) Clean(ctx context.Context) error {
	all, err := s.records.all(ctx)
	for _, u := range all {
		err = errors.Join(err, s.unstage(ctx, u, true))
	}
	return err
}

// users returns the targets that use a share, but for one of them: those with a record whose link is there, and links
// to the share in kubelet's directory.
func (s *Shares) users(ctx context.Context, share, but string) ([]string, error) {
	all, err := s.records.all(ctx)
	if err != nil {
		return nil, err
	}
	if s.mounter.agent.Own != nil {
		ctx = s.mounter.agent.Own(ctx)
	}
	var users []string
	for _, u := range all {
		if u.share() != share || sameName(u.Target, but) {
			continue
		}
		there, err := s.mounter.linked(ctx, u.Target)
		if err != nil {
			return nil, err
		}
		if there {
			users = append(users, u.Target)
		}
	}
	linked, err := s.mounter.kubelet.volumes()
	if err != nil {
		return nil, err
	}
	for _, path := range linked {
		known := func(target string) bool { return sameName(target, path) }
		if known(but) || slices.ContainsFunc(users, known) {
			continue
		}
		remote, err := s.mounter.kubelet.remote(path, false)
		if err != nil {
			return nil, err
		}
		if (use{Remote: remote}).share() == share {
			users = append(users, path)
		}
	}
	return users, nil
}

// linked reports whether a link is at the path of a staged share, or a mounted volume. Kubelet's directory, which it
// makes before it asks for the share, does not count. No server is asked.
func (m *Mounter) linked(ctx context.Context, path string) (bool, error) {
	switch _, err := m.volumeAt(ctx, path); {
	case err == nil, errors.Is(err, calls.ErrLink):
		return true, nil
	case isAny(err, calls.ErrNotMounted, calls.ErrPathNotFound):
		return false, nil
	case calls.WithoutReason(err):
		return m.PathExists(ctx, path)
	default:
		return false, err
	}
}

// notMapped reports whether a failure to map a share says that it was not mapped: the agent tried, and the server was
// not there or refused. Of other failures that is not known, such as those of an agent that stops.
func notMapped(err error) bool {
	var e *calls.Error
	if errors.As(err, &e) && e.Group == "filesystem" { // of the directories, before the mapping
		return true
	}
	return isAny(err, calls.ErrCredentials, calls.ErrShareNotFound, calls.ErrOtherCredentials) ||
		calls.HasReason(err, "BAD_NETPATH", "HOST_UNREACHABLE", "NETWORK_UNREACHABLE")
}

// refused reports whether the agent found no sense in the arguments of a call.
func refused(err error) bool {
	var e *calls.Error
	return errors.As(err, &e) && e.Code == codes.InvalidArgument
}
