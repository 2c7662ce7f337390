// SPDX-License-Identifier: Apache-2.0

package testnode

import (
	"context"
	"sync"

	"github.com/kubernetes-csi/csi-proxy/internal/faults"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
)

// Fault is one disturbance of the calls of one kernel function.
type Fault = faults.Fault

// Faults disturbs a node's kernel calls and remembers them, also those of a node that reboots.
type Faults struct {
	set *faults.Set // the agent's

	mu       sync.Mutex
	observed []kernel.Call
}

// Add begins a disturbance. It panics for one that could never happen, as that is a mistake in the test.
func (f *Faults) Add(fault Fault) { f.add(fault) }

// Hang makes the next call of a function wait until release is called; reached is closed when the call arrives.
func (f *Faults) Hang(function string) (reached <-chan struct{}, release func()) {
	return f.add(Fault{Function: function, Times: 1, Hang: true})
}

// HangAll makes all calls of a function wait until release is called; reached is closed when the first call arrives.
func (f *Faults) HangAll(function string) (reached <-chan struct{}, release func()) {
	return f.add(Fault{Function: function, Hang: true})
}

func (f *Faults) add(fault Fault) (reached <-chan struct{}, end func()) {
	id, reached, err := f.set.Add(fault)
	if err != nil {
		panic(err) //nolint:forbidigo // no test can continue after this
	}
	return reached, func() { f.set.Remove(id) }
}

// Release ends all disturbances and lets hanging calls go on.
func (f *Faults) Release() { f.set.Release() }

// Calls returns the kernel calls since the last call of Calls.
func (f *Faults) Calls() []kernel.Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.observed
	f.observed = nil
	return calls
}

// observe is the kernel.Interceptor that records the calls.
func (f *Faults) observe(_ context.Context, call kernel.Call, do func() error) error {
	f.mu.Lock()
	f.observed = append(f.observed, call)
	f.mu.Unlock()
	return do()
}
