// SPDX-License-Identifier: Apache-2.0

package reliability

import "github.com/anishathalye/porcupine"

// input is one call about a thing for which callers contend; output is its answer.
type (
	input struct {
		verb string
		what string // the volume, source or state that it names, if any
	}
	output struct {
		result string // "OK", "refused", "unclear", or the result of a query
	}
)

const (
	ok      = "OK"
	refused = "refused" // and nothing was done
	unclear = "unclear" // it may have been done, or will be
)

// rule gives the effect of a call on a state, and its answer.
type rule func(state string, in input) (next, result string)

// model makes a porcupine model of a rule. A call whose result is unclear may have been carried out or not; if it left
// something half done, that is one of the halves.
func model(begin string, carriedOut rule, half ...string) porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{begin} },
		Step: func(state, in, out any) []any {
			before, call, got := state.(string), in.(input), out.(output).result //nolint:forcetypeassert // nothing else is recorded
			next, result := carriedOut(before, call)
			switch got {
			case result:
				return []any{next}
			case unclear:
				states := []any{before, next}
				for _, h := range half {
					if before == begin { // only what is made from nothing can be half made
						states = append(states, h)
					}
				}
				return states
			}
			return nil
		},
	}
	return m.ToModel()
}

// directory: "absent" or "there".
func directory(state string, in input) (next, result string) {
	switch in.verb {
	case "Mkdir":
		return "there", ok
	case "Rmdir":
		return "absent", ok
	default: // PathExists
		return state, state
	}
}

// link: "absent", "stub", or its target. A stub is a directory that was to become a link.
func linkModel(state string, in input) (next, result string) {
	switch {
	case in.verb == "Rmdir":
		return "absent", ok
	case in.verb == "CreateSymlink" && (state == "absent" || state == in.what):
		return in.what, ok
	case in.verb == "CreateSymlink":
		return state, refused
	case state == "absent": // PathExists
		return state, "absent"
	default:
		return state, "there"
	}
}

// mountPoint: "absent" or the volume that is mounted.
func mountPoint(state string, in input) (next, result string) {
	switch {
	case in.verb == "MountVolume" && (state == "absent" || state == in.what):
		return in.what, ok
	case in.verb == "UnmountVolume" && (state == "absent" || state == in.what):
		return "absent", ok
	case in.verb == "GetVolumeIDFromTargetPath":
		return state, state
	default:
		return state, refused
	}
}

// diskState: "online" or "offline".
func diskState(state string, in input) (next, result string) {
	if in.verb == "SetDiskState" {
		return in.what, ok
	}
	return state, state
}
