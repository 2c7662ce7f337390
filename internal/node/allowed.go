// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// An Allowed narrows what one call may reach to less than the working directories. The walk asks it for every path that
// it is about to walk, the targets of links included, and for every share that a link leads into: what a caller writes
// says little about where it leads.
type Allowed interface {
	// Path returns the refusal of a path, nil if it is allowed.
	Path(path winpath.Path) error
	// Server returns the refusal of a file server, nil if it is allowed.
	Server(name string) error
	// Name is the same for calls that may reach the same.
	Name() string
}

type allowedKey struct{}

// WithAllowed returns a context for a call that may reach no more than is allowed.
func WithAllowed(ctx context.Context, a Allowed) context.Context {
	return context.WithValue(ctx, allowedKey{}, a)
}

// allowed returns what a call may reach; nil: everything in the working directories.
func allowed(ctx context.Context) Allowed {
	a, _ := ctx.Value(allowedKey{}).(Allowed)
	return a
}

// allowedName distinguishes calls that may not reach the same: joined, one would get the other's refusal.
func allowedName(ctx context.Context) string {
	if a := allowed(ctx); a != nil {
		return a.Name()
	}
	return ""
}

// checkDirs returns the working directory that a path lies in and the components below it.
func (o *op) checkDirs(path winpath.Path) (root winpath.Path, rest []string, err error) {
	if root, rest, err = o.node.dirs.Check(path); err != nil {
		return root, rest, outside(err)
	}
	if a := allowed(o.Context); a != nil {
		err = a.Path(path)
	}
	return root, rest, err
}

// checkServer returns the refusal of a file server that a link leads to.
func (o *op) checkServer(name string) error {
	if a := allowed(o.Context); a != nil {
		return a.Server(name)
	}
	return nil
}
