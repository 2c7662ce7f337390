// SPDX-License-Identifier: Apache-2.0

package operation

import "strings"

// Request is one request to the node, as a value: a verb and the objects that it works on. Everything else is derived
// from these: its name for people, the label of metrics, the locks that a change takes, which calls are identical and
// may be joined, and which reads are refused while an object is stuck.
type Request struct {
	Verb    string   // the method's name: "MountVolume"
	Objects []Object // the objects that it works on; none: the node as a whole
	// Arguments are what else distinguishes calls of the verb, for people and for joining: "force=true".
	Arguments string
	// Credentials distinguishes calls with different credentials, and is never shown: see CredentialKey.
	Credentials string
	// Details distinguish calls by what Arguments leave out, and are never shown.
	Details string
	// Scope is what the operation may reach. The zero value is refused.
	Scope Scope
	// Undoes: it may end what hangs, so reads that are stuck do not refuse it.
	Undoes bool
	// NoJoin: a call is never joined to an identical one.
	NoJoin bool
	// JoinQueuedOnly: a call joins only an operation that has not begun, because its result must be newer than the call.
	JoinQueuedOnly bool
}

// On returns the request of a verb on objects.
func On(verb string, objects ...Object) Request { return Request{Verb: verb, Objects: objects} }

// String returns the request for people: "Rmdir(C:\dir, force=true)".
func (r Request) String() string {
	var parts []string
	for _, x := range r.Objects {
		parts = append(parts, x.String())
	}
	if r.Arguments != "" {
		parts = append(parts, r.Arguments)
	}
	if len(parts) == 0 {
		return r.Verb
	}
	return r.Verb + "(" + strings.Join(parts, ", ") + ")"
}

// key returns the same text for identical requests, and "" for one that is never joined.
func (r Request) key() string {
	if r.NoJoin {
		return ""
	}
	parts := []string{r.Verb}
	for _, x := range r.Objects {
		parts = append(parts, x.key())
	}
	return strings.Join(append(parts, r.Arguments, r.Credentials, r.Details, r.Scope.key()), "\x00")
}

// stuckObjects returns the objects by which stuck reads are counted: for a read of the node as a whole, its verb.
func (r Request) stuckObjects() []Object {
	if len(r.Objects) == 0 {
		return []Object{Question(r.Verb)}
	}
	return r.Objects
}
