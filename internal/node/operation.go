// SPDX-License-Identifier: Apache-2.0

package node

import "strings"

// operation is one request to the node, as a value: a verb and the objects that it works on. Everything else is derived
// from these: its name for people, the label of metrics, the locks that a change takes, which calls are identical and
// may be joined, and which reads are refused while an object hangs.
type operation struct {
	verb    string   // the method's name: "MountVolume"
	objects []object // the objects that it works on; none: the node as a whole
	// arguments are what else distinguishes calls of the verb, for people and for joining: "force=true".
	arguments string
	// sealed distinguishes calls with different credentials, and is never shown.
	sealed string
	// allowed distinguishes calls that may not reach the same, and is never shown.
	allowed string
	// alone: a call is never joined to an identical one.
	alone bool
	// fresh: a call joins only an operation that has not begun, because its result must be newer than the call.
	fresh bool
}

// on returns the operation of a verb on objects.
func on(verb string, objects ...object) operation { return operation{verb: verb, objects: objects} }

// String returns the operation for people: "Rmdir(C:\dir, force=true)".
func (w operation) String() string {
	var parts []string
	for _, x := range w.objects {
		parts = append(parts, x.String())
	}
	if w.arguments != "" {
		parts = append(parts, w.arguments)
	}
	if len(parts) == 0 {
		return w.verb
	}
	return w.verb + "(" + strings.Join(parts, ", ") + ")"
}

// key returns the same text for identical operations, and "" for one that is never joined.
func (w operation) key() string {
	if w.alone {
		return ""
	}
	parts := []string{w.verb}
	for _, x := range w.objects {
		parts = append(parts, x.key())
	}
	return strings.Join(append(parts, w.arguments, w.sealed, w.allowed), "\x00")
}

// hangsAt returns the objects by which hanging reads are counted: for a read of the node as a whole, its verb.
func (w operation) hangsAt() []object {
	if len(w.objects) == 0 {
		return []object{{kind: wholeNode, name: w.verb}}
	}
	return w.objects
}
