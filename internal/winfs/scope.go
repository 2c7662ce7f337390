// SPDX-License-Identifier: Apache-2.0

package winfs

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// A Scope restricts one call to less than the working directories. The walk asks it for every path that it is about to
// walk, targets of links included, and for every share that a link leads to: the path as written may resolve elsewhere.
type Scope interface {
	// Path returns the refusal of a path, nil if it is allowed.
	Path(path winpath.Path) error
	// Server returns the refusal of a file server, nil if it is allowed.
	Server(name string) error
	// Name is equal for scopes that allow the same.
	Name() string
}

type scopeKey struct{}

// WithScope returns a context for a call that may reach no more than is allowed.
func WithScope(ctx context.Context, s Scope) context.Context {
	return context.WithValue(ctx, scopeKey{}, s)
}

// scopeOf returns the scope of a call; nil allows everything in the working directories.
func scopeOf(ctx context.Context) Scope {
	s, _ := ctx.Value(scopeKey{}).(Scope)
	return s
}

// ScopeName distinguishes calls with different scopes. Joined, one would get the other's refusal.
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
