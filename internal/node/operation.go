// SPDX-License-Identifier: Apache-2.0

package node

import "strings"

// operation is one thing that is asked of the node, as a value: a verb and what it works on. Everything else about it is
// derived from these: what people read, the label of metrics, which locks a change takes, which calls are identical and
// may be joined, and which reads are refused while something hangs.
type operation struct {
	verb    string   // the method's name: "MountVolume"
	objects []object // what it works on; none: the node as a whole
	// arguments is what else tells calls of the verb apart, for people and for joining: "force=true".
	arguments string
	// sealed tells calls with different credentials apart, and is never shown.
	sealed string
	// alone: a call is never joined to an identical one.
	alone bool
	// fresh: a call joins only an operation that has not begun, because its result must be newer than the call.
	fresh bool
}

// on is the operation of a verb on objects.
func on(verb string, objects ...object) operation { return operation{verb: verb, objects: objects} }

// String is the operation for people: "Rmdir(C:\dir, force=true)".
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

// key is the same for identical operations, and "" for one that is never joined.
func (w operation) key() string {
	if w.alone {
		return ""
	}
	parts := []string{w.verb}
	for _, x := range w.objects {
		parts = append(parts, x.key())
	}
	return strings.Join(append(parts, w.arguments, w.sealed), "\x00")
}

// hangsAt are the objects by which reads are counted that hang: of one on the node as a whole, the verb.
func (w operation) hangsAt() []object {
	if len(w.objects) == 0 {
		return []object{{kind: wholeNode, name: w.verb}}
	}
	return w.objects
}
