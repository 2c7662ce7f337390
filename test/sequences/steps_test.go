// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// step is one call of a driver, or one action in its own container.
type step struct {
	operation string // the Node operation that it is part of, and the index of that operation among its like in the life
	name      string // the RPC's, or the system call's in lower case
}

func (s step) String() string { return s.operation + " " + s.name }

// moment is when a step is interrupted.
type moment int

const (
	before moment = iota // the call fails and nothing was executed
	after                // the call took effect, and its response is lost
	killed               // the call took effect, and the driver's process ends: it runs nothing more of this attempt
)

func (m moment) String() string { return [...]string{"not made", "response lost", "driver killed"}[m] }

// interruption disturbs one step of a life.
type interruption struct {
	step   int // counted from the beginning of the life
	moment moment
}

// errInterrupted is what a driver gets from an interrupted step.
var errInterrupted = status.Error(codes.Unavailable, "connection to the agent lost")

// steps passes the steps of a driver on, records them and interrupts one.
type steps struct {
	interruption *interruption // nil: none
	operation    string
	taken        []step
	dead         bool // the driver was killed in this attempt
}

// begin begins an attempt at an operation.
func (s *steps) begin(operation string) { s.operation, s.dead = operation, false }

func (s *steps) step(name string, do func() error) error {
	if s.dead {
		return errInterrupted
	}
	number := len(s.taken)
	s.taken = append(s.taken, step{s.operation, name})
	hit := s.interruption != nil && s.interruption.step == number
	if hit && s.interruption.moment == before {
		return errInterrupted
	}
	err := do()
	if hit {
		s.dead = s.interruption.moment == killed
		return errInterrupted // whatever the response was
	}
	return err
}

// sequence returns the names of the steps of one operation, for comparing.
func sequence(taken []step, operation string) []string {
	var names []string
	for _, s := range taken {
		if s.operation == operation {
			names = append(names, s.name)
		}
	}
	return names
}

// nth returns the name of the nth time an operation is called in a life.
func nth(operation string, n int) string { return fmt.Sprintf("%s#%d", operation, n) }
