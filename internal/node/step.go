// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"

	"github.com/kubernetes-csi/csi-proxy/internal/winpath"
)

// A Step is a change that is made of other operations of the node, at a path.
type Step struct {
	Verb      string
	Target    string // the path
	Arguments string // what else distinguishes steps of the verb, for people and for joining
	User      string // with a password
	Password  Secret // is wiped
}

// Do runs a step. Like every change it runs to its end when its callers give up, and identical ones are joined. Steps
// at one path run one after the other: each locks the step's place, which no other operation locks, and leaves all
// other locks to the operations that it is made of. The function gets the path in the form that all operations take,
// and a context without the caller's deadline.
func Do[T any](ctx context.Context, n *Node, s Step, f func(ctx context.Context, target string) (T, error)) (T, error) {
	var zero T
	defer s.Password.Wipe()
	path, err := n.targetPath(s.Target)
	if err != nil {
		return zero, err
	}
	what := on(s.Verb, stepObject(path))
	what.arguments = s.Arguments
	if s.Password != nil {
		what.sealed = n.seal.of(s.User, s.Password)
	}
	return changeTo(ctx, n, what, nil, func(o *op) (T, error) {
		// From here on it has begun to act, and is not given up any more.
		if !n.act(o.flight) {
			return zero, abandoned(o.caller, what.String())
		}
		return f(o.ctx, path.String())
	})
}

// At returns a path in the form that all operations take, for steps that change nothing.
func (n *Node) At(target string) (string, error) {
	path, err := n.targetPath(target)
	return path.String(), err
}

// stepObject returns the object that a step at a path locks.
func stepObject(p winpath.Path) object {
	return object{kind: stepKind, name: p.String(), fold: p.Key()}
}
