// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// A Scope is what an operation may reach of what its node allows. The walk asks it for every path that it is about to
// walk, targets of links included, and for every share that a link leads to: the path as written may resolve elsewhere.
// The zero value allows nothing.
type Scope struct{ rule Rule }

// A Rule restricts the operations of a client.
type Rule interface {
	// Path returns the refusal of a path, nil if it is allowed.
	Path(path winpath.Path) error
	// Server returns the refusal of a file server, nil if it is allowed.
	Server(name string) error
	// Name is equal for rules that allow the same.
	Name() string
}

// Within returns the scope of a rule.
func Within(r Rule) Scope { return Scope{r} }

// Everything is the scope that allows all that the node allows.
func Everything() Scope { return Scope{everything{}} }

// Check returns an error for the zero value.
func (s Scope) Check() error {
	if s.rule == nil {
		return errdefs.PermissionDenied.Errorf(reason.Policy, "the call has come without what its client may reach")
	}
	return nil
}

// Path returns the refusal of a path, nil if it is allowed.
func (s Scope) Path(path winpath.Path) error {
	if err := s.Check(); err != nil {
		return err
	}
	return s.rule.Path(path)
}

// Server returns the refusal of a file server, nil if it is allowed.
func (s Scope) Server(name string) error {
	if err := s.Check(); err != nil {
		return err
	}
	return s.rule.Server(name)
}

// key distinguishes operations with different scopes. Joined, one would get the other's refusal.
func (s Scope) key() string {
	switch s.rule.(type) {
	case nil:
		return ""
	case everything:
		return "everything"
	}
	return "rule " + s.rule.Name()
}

type everything struct{}

func (everything) Path(winpath.Path) error { return nil }
func (everything) Server(string) error     { return nil }
func (everything) Name() string            { return "" }
