// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// maxDelay bounds a delay: what is meant to last longer is a hang.
const maxDelay = time.Hour

// A Fault is one disturbance of the calls of one kernel function. At most one of Error, Panic, Delay, Hang and Crash is
// set.
type Fault struct {
	Function string // as in kernel.Call
	Code     uint32 // the control code or information class; 0: any
	Skip     int    // how many such calls pass first
	Times    int    // how many are disturbed then; 0: all

	Error win32.Errno // the call fails with it
	Panic bool
	Delay Delay // the call waits first
	Hang  bool  // the call waits until the fault is removed
	Crash bool  // the process dies

	After bool // Error and Crash: the call takes effect first
}

// A Delay is a duration from a uniform distribution; a fixed one when both ends are the same.
type Delay struct{ Min, Max time.Duration }

var (
	// ErrInvalid is in the chain of every error of Check.
	ErrInvalid = errors.New("impossible fault")
	// ErrNoCrash means that the process is not the node's alone.
	ErrNoCrash = errors.New("the agent is part of another process and cannot crash alone")
)

// Check tells what is wrong with a fault: one that could never take effect would let a test pass for no reason. Its
// errors are ErrInvalid.
func (f Fault) Check() error {
	effects := 0
	for _, set := range []bool{f.Error != 0, f.Panic, f.Delay != Delay{}, f.Hang, f.Crash} {
		if set {
			effects++
		}
	}
	switch {
	case !known(f.Function):
		return fmt.Errorf("%w: there is no kernel function %q", ErrInvalid, f.Function)
	case effects != 1:
		return fmt.Errorf("%w: it has %d effects, not one", ErrInvalid, effects)
	case f.Skip < 0 || f.Times < 0:
		return fmt.Errorf("%w: it counts below zero", ErrInvalid)
	case f.Delay.Min < 0 || f.Delay.Max < f.Delay.Min || f.Delay.Max > maxDelay:
		return fmt.Errorf("%w: the delay is not a span from 0 to %v", ErrInvalid, maxDelay)
	case f.After && f.Error == 0 && !f.Crash:
		return fmt.Errorf("%w: only failures and crashes can come after the call", ErrInvalid)
	}
	return nil
}

// known tells whether calls of a function pass an interceptor.
func known(function string) bool { return slices.Contains(kernel.Functions(), function) }
