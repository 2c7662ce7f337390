// SPDX-License-Identifier: Apache-2.0

package reliability

import (
	"context"
	"slices"
	"sync"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// injector intercepts the kernel calls of one agent: it counts them, disturbs one, and lets none through once the
// agent is dead.
type injector struct {
	mu     sync.Mutex
	calls  []kernel.Call
	target int                                           // the call that is disturbed, counted from the last watch
	inject func(call kernel.Call, do func() error) error // in place of it; nil: nothing is disturbed
	met    bool
	dead   bool
}

// watch forgets the calls so far and disturbs the target-th from here; with a nil act it disturbs none.
func (d *injector) watch(target int, inject func(kernel.Call, func() error) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.calls, d.target, d.inject, d.met = nil, target, inject, false
}

// watched ends the watch and returns the calls and whether the target was reached.
func (d *injector) watched() (calls []kernel.Call, met bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.inject = nil
	return d.calls, d.met
}

// asked reports whether a disk has been asked for its marks among all disks.
func (d *injector) asked(disk int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.ContainsFunc(d.calls, func(call kernel.Call) bool {
		return call.Code == win32.IOCTL_STORAGE_QUERY_PROPERTY && call.Part == disk+1
	})
}

func (d *injector) kill() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead = true
}

func (d *injector) intercept(_ context.Context, call kernel.Call, do func() error) error {
	d.mu.Lock()
	call.Input = nil // may not be kept
	number := len(d.calls)
	d.calls = append(d.calls, call)
	inject, dead := d.inject, d.dead
	hit := inject != nil && number == d.target
	d.met = d.met || hit
	d.mu.Unlock()
	switch {
	case dead: // a dead process does not run the code on its way out
		return failure(call, win32.ERROR_OPERATION_ABORTED)
	case hit:
		return inject(call, do)
	}
	return do()
}

func failure(call kernel.Call, code win32.Errno) error {
	return &kernel.Error{Function: call.Function, Object: call.Object, Code: code}
}
