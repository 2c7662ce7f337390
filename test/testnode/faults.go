// SPDX-License-Identifier: Apache-2.0

package testnode

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// Faults disturbs kernel calls: it is an interceptor.
type Faults struct {
	mu       sync.Mutex
	faults   []*Fault
	observed []kernel.Call
	releases []func()
}

// Fault is one disturbance of the calls of one kernel function.
type Fault struct {
	Function string // as in kernel.Call
	Code     uint32 // the control code or information class; 0: any
	Skip     int    // how many such calls pass first
	Times    int    // how many are disturbed then; 0: all
	Error    win32.Errno
	After    bool // fail after the call took effect
	Panic    bool

	hang    chan struct{} // the call waits until it is closed
	hanging chan struct{} // closed when it does
}

// NewFaults disturbs nothing yet.
func NewFaults() *Faults { return &Faults{} }

// Add begins a disturbance.
func (f *Faults) Add(fault Fault) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, &fault)
}

// Hang makes the next call of a function wait until release is called; reached is closed when it does.
func (f *Faults) Hang(function string) (reached <-chan struct{}, release func()) {
	hang, hanging := make(chan struct{}), make(chan struct{})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, &Fault{Function: function, Times: 1, hang: hang, hanging: hanging})
	release = sync.OnceFunc(func() { close(hang) })
	f.releases = append(f.releases, release)
	return hanging, release
}

// Release ends all disturbances and lets hanging calls go on.
func (f *Faults) Release() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, release := range f.releases {
		release()
	}
	f.faults, f.releases = nil, nil
}

// Calls returns the kernel calls since the last time.
func (f *Faults) Calls() []kernel.Call {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := f.observed
	f.observed = nil
	return calls
}

// Intercept is the kernel.Interceptor.
func (f *Faults) Intercept(_ context.Context, call kernel.Call, do func() error) error {
	fault := f.next(call)
	if fault == nil {
		return do()
	}
	if fault.Panic {
		panic(fmt.Sprintf("injected into %s", call.Function)) //nolint:forbidigo // the very thing that is tested
	}
	if fault.hang != nil {
		close(fault.hanging)
		<-fault.hang
		return do()
	}
	if fault.After {
		if err := do(); err != nil {
			return err
		}
	}
	return &kernel.Error{Function: call.Function, Object: call.Object, Code: fault.Error}
}

func (f *Faults) next(call kernel.Call) *Fault {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.observed = append(f.observed, call)
	for i, fault := range f.faults {
		if fault.Function != call.Function || (fault.Code != 0 && fault.Code != call.Code) {
			continue
		}
		if fault.Skip > 0 {
			fault.Skip--
			continue
		}
		if fault.Times == 1 {
			f.faults = slices.Delete(f.faults, i, i+1)
		} else if fault.Times > 1 {
			fault.Times--
		}
		return fault
	}
	return nil
}
