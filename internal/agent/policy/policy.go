// SPDX-License-Identifier: Apache-2.0

// Package policy decides what a client of the storage API may do, by the operator's file: which methods it may call,
// and which directories, services and servers its calls may name. A client is what the system says of the process that
// opened the connection. docs/policy.md describes the file.
package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/node"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
)

// A Policy is a list of rules. A client's rule is the first that describes it; a client without a rule may do nothing.
type Policy struct {
	name    string // of the file
	rules   []*Rule
	decided decided
}

// A Rule is what some clients may do.
type Rule struct {
	File RuleFile
	Line int // on which the rule begins

	clients     []client
	methods     []func(path string) bool
	directories winpath.WorkingDirs
	services    []string
	servers     []string // folded
	portals     []string // folded
	targets     []string // lower case
}

// Rules returns the rules in their order.
func (p *Policy) Rules() []*Rule { return slices.Clone(p.rules) }

// Directories returns the directories of all rules, which clients share.
func (p *Policy) Directories() (all []winpath.Path) {
	for _, r := range p.rules {
		all = append(all, r.directories.Dirs()...)
	}
	return all
}

// RuleOf returns the rule of a client. Without one, the error is the refusal of its calls.
func (p *Policy) RuleOf(peer transport.Peer) (*Rule, error) {
	for _, r := range p.rules {
		if slices.ContainsFunc(r.clients, func(c client) bool { return c.matches(peer) }) {
			return r, nil
		}
	}
	return nil, refuse("the policy has no rule for this client (%s); the operator can add one to %s; for csi-proxyctl, "+
		"deploy/policies/operator.yaml has it", Describe(peer), p.name)
}

// Name returns the rule's name.
func (r *Rule) Name() string { return string(r.File.Name) }

// Method returns the refusal of a method, by its path on the wire; nil if the clients may call it.
func (r *Rule) Method(path string) error {
	if slices.ContainsFunc(r.methods, func(selects func(string) bool) bool { return selects(path) }) {
		return nil
	}
	return r.refuse("does not let its clients call %s; the method %s would", path, Written(path))
}

// Path returns the refusal of a path of the node; nil if it is in one of the rule's directories.
func (r *Rule) Path(path winpath.Path) error {
	if _, _, ok := r.directories.Find(path); ok {
		return nil
	}
	return r.refuse("does not reach %s; it allows %s", path, allows("the directories", r.directories.String()))
}

// Server returns the refusal of a file server; nil if the rule allows it.
func (r *Rule) Server(name string) error {
	// Windows gives both characters a meaning of their own: a provider, and WebDAV.
	if !strings.ContainsAny(name, "@;") && anyFits(r.servers, name, fitsServer) {
		return nil
	}
	return r.refuse("does not reach the file server %s; it allows %s", winpath.Quote(name),
		allows("the servers", strings.Join(r.servers, ", ")))
}

// refuse returns the refusal of a call.
func (r *Rule) refuse(format string, args ...any) error {
	return refuse("the policy's rule %q %s", r.Name(), fmt.Sprintf(format, args...))
}

func refuse(format string, args ...any) error {
	return errdefs.PermissionDenied.Errorf(reason.Policy, format, args...)
}

func allows(what, list string) string {
	if list == "" {
		return "none"
	}
	return what + " " + list
}

// selected returns whether methods are those that a policy selects: by a mask of names, or by read all that change
// nothing.
func selected(text string) (func(path string) bool, error) {
	if text == "read" {
		return reads, nil
	}
	m, err := ParseMask(text)
	return m.Match, err
}

// reads reports whether a method, by its path on the wire, changes nothing on the node or on a server.
func reads(path string) bool {
	m, ok := node.MethodAt(path)
	return ok && m.Reads
}

// Written returns the path of a method as policies write it: disk/v1/Rescan for /v1.Disk/Rescan.
func Written(path string) string {
	p, _ := versions.ParsePath(path)
	return p.Group + "/" + p.Version + "/" + p.Method
}
