// SPDX-License-Identifier: Apache-2.0

// Package winfs opens paths of a Windows node, safely and by handle: which paths callers may name, where these may
// lead, and what is made and removed there.
package winfs

import (
	"sync/atomic"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// The path policy: which paths callers may name, and where these may lead.
//
// A path is accepted as text if its grammar allows a single reading and it lies in a working directory. It is then
// walked component by component, each opened relative to the handle of the one before, so that nothing swapped
// meanwhile can redirect it. On the way,
//   - a volume mounted on the file system of a working directory is entered,
//   - a link on that file system is followed where its target is acceptable by this same policy, or a share that is
//     mapped,
//   - anything of the kind inside a mounted volume or a share is refused: workloads write there.
//
// The last component is not followed; the operation decides what a link there means.

// Policy is what all operations of a node have in common. It is safe for concurrent use.
type Policy struct {
	dirs   winpath.WorkingDirs
	kept   []winpath.Path // directories that clients share: no operation replaces one, nor a directory above one
	shares shareGuard
	system atomic.Pointer[winpath.VolumeID] // the volume that Windows runs from, once it is known: it cannot change
}

// NewPolicy returns the policy for working directories; at least one is needed. The directories that are kept are those
// that several clients use.
func NewPolicy(workingDirs []string, kept []winpath.Path) (*Policy, error) {
	dirs, err := winpath.NewWorkingDirs(workingDirs)
	if err != nil {
		return nil, invalidPath(err)
	}
	return &Policy{dirs: dirs, kept: kept}, nil
}

// FS is the node's files as one operation sees them.
type FS struct {
	run    *operation.Operation
	kernel kernel.Kernel
	policy *Policy
	scope  operation.Scope   // the operation's or, for what the agent itself looks at, everything
	busy   operation.Backoff // see RetryBusy
}

// For returns the files for an operation.
func (p *Policy) For(o *operation.Operation) *FS {
	return &FS{run: o, kernel: o.Kernel, policy: p, scope: o.Request.Scope}
}

// Unrestricted returns the files as the agent itself sees them, for looking at what other clients have made.
func (fs *FS) Unrestricted() *FS {
	return &FS{run: fs.run, kernel: fs.kernel, policy: fs.policy, scope: operation.Everything()}
}

// Dirs returns the working directories.
func (p *Policy) Dirs() []winpath.Path { return p.dirs.Dirs() }

// ParsePath accepts a path as text. The volume group and IsSymlink read / as \; the others refuse it.
func (p *Policy) ParsePath(text string, slashes winpath.Options) (winpath.Path, error) {
	path, err := winpath.Parse(text, slashes)
	if err != nil {
		return winpath.Path{}, invalidPath(err)
	}
	if _, _, err := p.dirs.Check(path); err != nil {
		return winpath.Path{}, outside(err)
	}
	return path, nil
}

// MayTake refuses to let an operation make, replace or remove the object at a path that is a working directory, or a
// kept directory, or above one.
func (p *Policy) MayTake(path winpath.Path, verb string) error {
	if err := p.MayLinkTo(path, verb); err != nil {
		return err
	}
	return p.notKept(path, verb, 0)
}

// MayLinkTo refuses a working directory, and one above a kept directory, as the source of a link: through the link, the
// kept directory would have another path, which MayTake does not know.
func (p *Policy) MayLinkTo(path winpath.Path, verb string) error {
	if _, rest, err := p.dirs.Check(path); err == nil && len(rest) == 0 {
		return errdefs.FailedPrecondition.Errorf(reason.WorkingDirItself,
			"%s is a working directory itself and cannot be %s", path, verb)
	}
	return p.notKept(path, verb, 1)
}

// NotKept refuses to let an operation remove what is in a kept directory, or above one.
func (p *Policy) NotKept(path winpath.Path, verb string) error { return p.notKept(path, verb, 0) }

// notKept refuses a path with a kept directory at least so many levels below it; 0: at the path itself.
func (p *Policy) notKept(path winpath.Path, verb string, levels int) error {
	for _, kept := range p.kept {
		if below, is := kept.Below(path); is && len(below) >= levels {
			return errdefs.FailedPrecondition.Errorf(reason.WorkingDirItself,
				"%s cannot be %s: the agent's policy lists %s, which clients share", path, verb, kept)
		}
	}
	return nil
}

// invalidPath returns the error for a path that the grammar refuses.
func invalidPath(err error) error {
	return errdefs.InvalidArgument.WrapErrorf(err, reason.InvalidPath, "%v", err)
}

// outside returns the error for a path that the grammar accepts but that lies outside the working directories.
func outside(err error) error {
	return errdefs.InvalidArgument.WrapErrorf(err, reason.OutsideWorkingDirs, "%v", err)
}

// checkDirs returns the working directory that a path lies in and the components below it.
func (fs *FS) checkDirs(path winpath.Path) (root winpath.Path, rest []string, err error) {
	if root, rest, err = fs.policy.dirs.Check(path); err != nil {
		return root, rest, outside(err)
	}
	return root, rest, fs.scope.Path(path)
}
