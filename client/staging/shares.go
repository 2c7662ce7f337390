// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"context"
	"errors"
	"io/fs"

	"github.com/kubernetes-csi/csi-proxy/client/calls"
	"github.com/kubernetes-csi/csi-proxy/client/stepwise"
)

// Shares keeps one mapping of each SMB share for all volumes of the node that use it, and removes the mapping with the
// last of them. The users of a share are recorded in a directory. So the count is right after a crash or a reboot, and
// beside a second driver with the same directory. It is safe for concurrent use.
type Shares struct {
	*stepwise.Shares
	mounter *Mounter
}

// Shares returns the shares whose users are recorded in a directory, which is made. The directory is one of the
// driver's own process, and must be on the node and outlive the driver's container: the plugin directory of kubelet
// that has the driver's socket is. Drivers that use shares of the same servers should have one directory in common,
// because a mapping belongs to the whole node.
func (m *Mounter) Shares(dir string) *Shares { return &Shares{m.Mounter.Shares(dir), m} }

// UnstageAny is Unstage for whatever is at a path: if no share is staged there, it is Mounter.UnmountDevice.
func (s *Shares) UnstageAny(ctx context.Context, target string) error {
	if _, err := s.Staged(ctx, target); errors.Is(err, stepwise.ErrNotStaged) {
		return s.mounter.UnmountDevice(ctx, target)
	}
	return s.Unstage(ctx, target)
}

// Ensure repeats Stage for a target that is staged, so that a mapping that is gone or has become useless is there again
// before a pod starts: a driver calls it when it publishes. Without credentials it is an error only if they are needed:
// csiproxy.ErrCredentials. A target that is not staged is stepwise.ErrNotStaged.
func (s *Shares) Ensure(ctx context.Context, target string, credentials stepwise.Credentials) error {
	remote, err := s.Staged(ctx, target)
	if err != nil {
		return err
	}
	return s.Stage(ctx, remote, target, credentials)
}

// A ShareStatus is how a staged share is.
type ShareStatus struct {
	Remote    string             // \\server\share\dir, as staged
	Users     []string           // the targets at which the share or a directory in it is staged, with this one
	Condition stepwise.Condition // of the target
}

// Status returns the status of the share that is staged at target. None is stepwise.ErrNotStaged.
func (s *Shares) Status(ctx context.Context, target string) (ShareStatus, error) {
	remote, err := s.Staged(ctx, target)
	if err != nil {
		return ShareStatus{}, err
	}
	status := ShareStatus{Remote: remote}
	if status.Users, err = s.Users(ctx, remote); err != nil {
		return status, err
	}
	status.Condition, err = s.mounter.Condition(ctx, target)
	if errors.Is(err, fs.ErrNotExist) {
		status.Condition = stepwise.Condition{Abnormal: true, Cause: calls.ErrNotMounted,
			Message: "the link at " + stepwise.WindowsPath(target) + " is gone"}
		return status, nil
	}
	return status, err
}
