// SPDX-License-Identifier: Apache-2.0

//go:build windows

package wmi

import (
	"errors"
	"runtime"
	"sync"
	"time"

	"github.com/go-ole/go-ole"
	"github.com/go-ole/go-ole/oleutil"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel/windows/winapi"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

const (
	rpcAuthenticationPrivacy = 6 // RPC_C_AUTHN_LEVEL_PKT_PRIVACY
	rpcImpersonate           = 3 // RPC_C_IMP_LEVEL_IMPERSONATE
)

// Client calls WMI on this machine, on threads that start when needed: setting up COM for every call is slow. A call
// that hangs keeps its thread. Calls that may hang and calls that never should have clients of their own.
type Client struct {
	// Threads is how many calls run at the same time; zero: one.
	Threads int
	// MaxWait is how long a call waits for a thread while all are busy. Without any it fails at once.
	MaxWait time.Duration
	// Keep is how long a thread stays without a call; then it ends, unless it is the last one. Zero: all threads stay.
	Keep time.Duration

	start   sync.Once
	slots   chan struct{}       // holds an element for each call that runs
	jobs    chan func(*session) // of calls that have their turn
	mu      sync.Mutex
	threads int
}

// do runs f on one of the threads and waits for its end: a COM call cannot be abandoned.
func (c *Client) do(f func(*session) error) error {
	if c == nil {
		return win32.ERROR_NOT_READY
	}
	c.start.Do(func() {
		most := max(c.Threads, 1)
		c.slots, c.jobs = make(chan struct{}, most), make(chan func(*session), most)
	})
	select {
	case c.slots <- struct{}{}:
	default:
		timer := time.NewTimer(c.MaxWait)
		defer timer.Stop()
		select {
		case c.slots <- struct{}{}:
		case <-timer.C:
			return win32.ERROR_BUSY
		}
	}
	defer func() { <-c.slots }()
	done := make(chan error, 1)
	c.addThread()
	c.jobs <- func(s *session) { done <- f(s) }
	return <-done
}

// addThread starts a thread if there are fewer threads than calls.
func (c *Client) addThread() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.slots) > c.threads {
		c.threads++
		go c.serve()
	}
}

// serve runs calls on one thread.
func (c *Client) serve() {
	// never unlocked: other goroutines must not see the thread's COM state, and it ends with this one
	runtime.LockOSThread()
	s := &session{services: make(map[string]*ole.IDispatch)}
	s.unusable = initialize()
	for {
		var idle <-chan time.Time
		if c.Keep > 0 {
			idle = time.After(c.Keep)
		}
		select {
		case job := <-c.jobs:
			job(s)
			handleMessages()
		case <-idle:
			if c.dropIdleThread() {
				s.close()
				return
			}
		}
	}
}

// dropIdleThread takes a thread off the count if there are more than calls, and another one is left.
func (c *Client) dropIdleThread() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.threads <= max(1, len(c.slots)) {
		return false
	}
	c.threads--
	return true
}

// handleMessages handles what is left in the thread's queue after a call, such as the release of objects.
func handleMessages() {
	var message winapi.Message
	for winapi.PeekMessage(&message, 0, 0, 0, winapi.PM_REMOVE) {
		winapi.DispatchMessage(&message)
	}
}

// initialize gives the thread an apartment of its own. In the multithreaded apartment, COM would keep the scripting
// objects of WMI on a single thread, and one call that hangs would stop all others. Programs that made an apartment for
// each query leaked memory in this way; these threads stay as long as they are used. An apartment that the thread has
// already, or security that is set up, is not an error.
// https://learn.microsoft.com/windows/win32/com/single-threaded-apartments
// https://github.com/StackExchange/wmi/pull/13, https://github.com/StackExchange/wmi/pull/23
func initialize() error {
	const alreadyJoined, securityTooLate = 0x00000001, 0x80010119 // S_FALSE, RPC_E_TOO_LATE
	if err := ole.CoInitializeEx(0, ole.COINIT_APARTMENTTHREADED); err != nil && result(err) != alreadyJoined {
		return failure(err)
	}
	err := ole.CoInitializeSecurity(-1, rpcAuthenticationPrivacy, rpcImpersonate, 0)
	if err != nil && result(err) != securityTooLate {
		ole.CoUninitialize() // a session without it is never closed
		return failure(err)
	}
	return nil
}

// session is the COM state of one thread.
type session struct {
	unusable error                     // why the thread has no COM
	services map[string]*ole.IDispatch // SWbemServices by namespace
}

// close gives back what the thread has of COM, before it ends.
func (s *session) close() {
	for _, services := range s.services {
		services.Release()
	}
	if s.unusable == nil {
		ole.CoUninitialize()
	}
}

// inNamespace runs f with a connection to a namespace. A dead one is replaced, and f repeated if repeatable allows it.
func (s *session) inNamespace(namespace string, repeatable func() bool, f func(services *ole.IDispatch) error) error {
	services, isNew, err := s.connect(namespace)
	if err != nil {
		return failure(err)
	}
	err = f(services)
	if err == nil || !disconnected(result(err)) {
		return failure(err)
	}
	services.Release()
	delete(s.services, namespace)
	if isNew || !repeatable() {
		return failure(err)
	}
	if services, _, err = s.connect(namespace); err == nil {
		err = f(services)
	}
	return failure(err)
}

// connect returns the connection to a namespace (SWbemLocator.ConnectServer).
// https://learn.microsoft.com/windows/win32/wmisdk/swbemlocator-connectserver
func (s *session) connect(namespace string) (services *ole.IDispatch, isNew bool, err error) {
	if s.unusable != nil {
		return nil, false, s.unusable
	}
	if services := s.services[namespace]; services != nil {
		return services, false, nil
	}
	unknown, err := oleutil.CreateObject("WbemScripting.SWbemLocator")
	if err != nil {
		return nil, false, err
	}
	defer unknown.Release()
	locator, err := unknown.QueryInterface(ole.IID_IDispatch)
	if err != nil {
		return nil, false, err
	}
	defer locator.Release()
	v, err := locator.CallMethod("ConnectServer", "", namespace) // an empty name is this machine
	if err != nil {
		return nil, false, err
	}
	services = v.ToIDispatch() // from here on, the cache owns the VARIANT's reference
	if services == nil {
		return nil, false, win32.ERROR_INVALID_DATA
	}
	s.services[namespace] = services
	return services, true, nil
}

// result returns the HRESULT of an error of go-ole, 0 for any other error.
func result(err error) uint32 {
	var e *ole.OleError
	if !errors.As(err, &e) {
		return 0
	}
	const exception = 0x80020009 // DISP_E_EXCEPTION: the reason is in the EXCEPINFO
	var info ole.EXCEPINFO
	if uint32(e.Code()) == exception && errors.As(e.SubError(), &info) && info.SCODE() != 0 {
		return info.SCODE()
	}
	return uint32(e.Code())
}

// failure returns the Win32 code of an error. The provider's text is left out, because it may quote its input.
func failure(err error) error {
	var known win32.Errno
	switch {
	case err == nil:
		return nil
	case errors.As(err, &known):
		return known
	}
	if r := result(err); r != 0 {
		return Code(r)
	}
	return win32.ERROR_GEN_FAILURE
}
