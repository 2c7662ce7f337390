// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/internal/operation"
)

// Composite is a change at a path that is made of other operations of the node.
type Composite struct {
	Verb      string
	Target    string // the path
	Arguments string // what else distinguishes composites of the verb, for people and for joining
	User      string // with a password
	Password  Secret // is wiped
}

// Run runs a composite. It runs to its end when its callers give up, as every change does, and identical ones are
// joined. Composites at one path run one after the other; all other locks are taken by the operations inside. The
// function gets the path in its canonical form and a context without the caller's deadline.
func Run[T any](ctx context.Context, n *Node, c Composite,
	f func(ctx context.Context, target string) (T, error)) (T, error) {
	var zero T
	defer c.Password.Wipe()
	path, err := n.targetPath(c.Target)
	if err != nil {
		return zero, err
	}
	what := operation.On(c.Verb, operation.CompositeAt(path))
	what.Arguments = c.Arguments
	if c.Password != nil {
		what.Credentials = n.operations.CredentialKey(c.User, c.Password)
	}
	return changeTo(ctx, n, what, func(o *op) (T, error) {
		if err := o.Commit(); err != nil {
			return zero, err
		}
		return f(o.Context, path.String())
	})
}

// ParsePath returns the canonical form of a path, for composites that change nothing.
func (n *Node) ParsePath(target string) (string, error) {
	path, err := n.targetPath(target)
	return path.String(), err
}
