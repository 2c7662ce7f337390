// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	api "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// A Set holds the faults of one node. Its Intercept is a kernel.Interceptor; Around wraps API calls.
type Set struct {
	crash func()   // ends the process; nil: it may not crash
	paths []string // of the API methods that are served

	mu     sync.Mutex
	lastID uint64
	faults []*active
}

// active is a fault that was added.
type active struct {
	fault
	id       uint64
	skip     uint32 // how many calls still pass
	injected uint64
	holding  uint64
	hangs    func()        // tells that a call hangs
	over     chan struct{} // closed when hanging or delayed calls may go on
	aborted  bool          // those calls fail; set before over is closed
}

// New returns a Set without faults. A fault with Crash calls crash, which should not return; nil: such faults are
// refused.
func New(crash func()) *Set { return &Set{crash: crash} }

// Add adds a fault. When several apply to a call, the oldest one takes it. The channel is closed when the first call
// hangs. Errors: those of Check, ErrInvalid for a method that is not served, ErrNoCrash.
func (s *Set) Add(m *api.Fault) (id uint64, reached <-chan struct{}, err error) {
	f, err := parse(m)
	if err != nil {
		return 0, nil, err
	}
	if f.Crash && s.crash == nil {
		return 0, nil, ErrNoCrash
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if f.Method != "" && !slices.ContainsFunc(s.paths, f.mask.Match) {
		return 0, nil, fmt.Errorf("%w: %q selects no method that this agent serves", ErrInvalid, f.Method)
	}
	s.lastID++
	hanging := make(chan struct{})
	s.faults = append(s.faults, &active{fault: f, id: s.lastID, skip: f.Skip,
		hangs: sync.OnceFunc(func() { close(hanging) }), over: make(chan struct{})})
	return s.lastID, hanging, nil
}

// Serve sets the API methods that are served, by their paths on the wire. Faults for others are refused.
func (s *Set) Serve(paths []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paths = slices.Clone(paths)
}

// Remove removes a fault, lets the calls that it holds go on, and reports whether there was one with that id.
func (s *Set) Remove(id uint64) bool {
	return s.end(false, func(a *active) bool { return a.id == id }) > 0
}

// Release removes all faults and lets the calls that they hold go on.
func (s *Set) Release() { s.end(false, func(*active) bool { return true }) }

// Abort makes the calls that are held fail with ERROR_OPERATION_ABORTED, and removes the faults that hold them.
func (s *Set) Abort() { s.end(true, func(a *active) bool { return a.holding > 0 }) }

func (s *Set) end(abort bool, which func(*active) bool) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.faults)
	s.faults = slices.DeleteFunc(s.faults, func(a *active) bool {
		if !which(a) {
			return false
		}
		a.aborted = abort
		close(a.over)
		return true
	})
	return before - len(s.faults)
}

// List returns the faults by id. A spent one is listed for as long as it holds calls.
func (s *Set) List() []*api.FaultStatus {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*api.FaultStatus, 0, len(s.faults))
	for _, a := range s.faults {
		list = append(list, &api.FaultStatus{Id: a.id, Fault: a.Fault, Disturbed: a.injected, Holding: a.holding})
	}
	return list
}

// Intercept is the kernel.Interceptor.
func (s *Set) Intercept(_ context.Context, call kernel.Call, do func() error) error {
	a := s.take(func(a *active) bool { return a.matches(call) })
	if a == nil {
		return do()
	}
	failed := func(code win32.Errno) error {
		return &kernel.Error{Function: call.Function, Object: call.Object, Code: code}
	}
	return s.disturb(context.Background(), a, do, failed(win32.ERROR_OPERATION_ABORTED), failed(a.fail))
}

// Around makes the API call of a path on the wire by do, disturbed if a fault applies. Its error is a gRPC status or
// that of do. When it returns cut, the connection is to be closed without an answer.
func (s *Set) Around(ctx context.Context, path string, do func() error) (cut bool, err error) {
	a := s.take(func(a *active) bool { return a.mask.Match(path) })
	if a == nil {
		return false, do()
	}
	failed := a.statusError()
	switch {
	case a.Crash:
		failed = status.Error(codes.Unavailable, "the agent crashed")
	case a.Cut:
		failed = status.Error(codes.Unavailable, "the connection was cut")
	}
	return a.Crash || a.Cut, s.disturb(ctx, a, do,
		status.Error(codes.Unavailable, "the call hung until the agent or its node stopped"), failed)
}

// disturb makes a call as a fault demands. It fails with aborted if Abort ends its wait, or with failed.
func (s *Set) disturb(ctx context.Context, a *active, do func() error, aborted, failed error) (err error) {
	if a.AfterEffect {
		if err = do(); err != nil && !a.Crash && !a.Cut && !a.holds() {
			return err
		}
	}
	switch {
	case a.holds():
		if !s.hold(ctx, a) {
			return aborted
		}
		if ctx.Err() != nil {
			return status.FromContextError(ctx.Err()).Err()
		}
		if !a.AfterEffect {
			err = do()
		}
		return err
	case a.Crash:
		s.crash()
	}
	return failed
}

// take finds the fault for a call and counts the call.
func (s *Set) take(fits func(*active) bool) *active {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, a := range s.faults {
		if !fits(a) || a.spent() {
			continue
		}
		if a.skip > 0 {
			a.skip--
			continue
		}
		a.injected++
		if a.holds() {
			a.holding++
		} else if a.spent() {
			s.faults = slices.Delete(s.faults, i, i+1)
		}
		return a
	}
	return nil
}

// spent reports whether no further call is disturbed.
func (a *active) spent() bool { return a.Times > 0 && a.injected >= uint64(a.Times) }

// hold makes a call wait until its delay, the fault or the context is over. It reports false if the call was aborted.
func (s *Set) hold(ctx context.Context, a *active) (goesOn bool) {
	var elapsed <-chan time.Time
	if a.Hang {
		a.hangs()
	} else {
		timer := time.NewTimer(a.delay())
		defer timer.Stop()
		elapsed = timer.C
	}
	select {
	case <-a.over:
	case <-elapsed:
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	a.holding--
	if a.holding == 0 && a.spent() {
		s.faults = slices.DeleteFunc(s.faults, func(other *active) bool { return other == a })
	}
	return !a.aborted
}
