// SPDX-License-Identifier: Apache-2.0

package winfs

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// A Scope narrows what one call may reach to less than the working directories. The walk asks it for every path that
// it is about to walk, the targets of links included, and for every share that a link leads into: what a caller writes
// says little about where it leads.
type Scope interface {
	// Path returns the refusal of a path, nil if it is allowed.
	Path(path winpath.Path) error
	// Server returns the refusal of a file server, nil if it is allowed.
	Server(name string) error
	// Name is the same for calls that may reach the same.
	Name() string
}

type scopeKey struct{}

// WithScope returns a context for a call that may reach no more than is allowed.
func WithScope(ctx context.Context, s Scope) context.Context {
	return context.WithValue(ctx, scopeKey{}, s)
}

// scopeOf returns what a call may reach; nil: everything in the working directories.
func scopeOf(ctx context.Context) Scope {
	s, _ := ctx.Value(scopeKey{}).(Scope)
	return s
}

// ScopeName distinguishes calls that may not reach the same: joined, one would get the other's refusal.
func ScopeName(ctx context.Context) string {
	if s := scopeOf(ctx); s != nil {
		return s.Name()
	}
	return ""
}

// checkDirs returns the working directory that a path lies in and the components below it.
func (fs *FS) checkDirs(path winpath.Path) (root winpath.Path, rest []string, err error) {
	if root, rest, err = fs.policy.dirs.Check(path); err != nil {
		return root, rest, outside(err)
	}
	if s := scopeOf(fs.Context); s != nil {
		err = s.Path(path)
	}
	return root, rest, err
}

// checkServer returns the refusal of a file server that a link leads to.
func (fs *FS) checkServer(name string) error {
	if s := scopeOf(fs.Context); s != nil {
		return s.Server(name)
	}
	return nil
}
