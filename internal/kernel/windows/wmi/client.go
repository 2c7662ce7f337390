// SPDX-License-Identifier: Apache-2.0

//go:build windows

package wmi

import (
	"runtime"
	"sync"
	"time"

	"github.com/go-ole/go-ole"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

const (
	maxThreads               = 3               // calls at the same time; a provider that hangs keeps one of them
	patience                 = 2 * time.Minute // for a thread to become free, when all are busy
	rpcAuthenticationPrivacy = 6               // RPC_C_AUTHN_LEVEL_PKT_PRIVACY
	rpcImpersonate           = 3               // RPC_C_IMP_LEVEL_IMPERSONATE
)

// Client calls WMI on this machine. It makes its calls on a few threads that start when needed and never end: COM is set
// up per thread, and doing so for every call is slow. The zero value is ready for use.
type Client struct {
	start   sync.Once
	jobs    chan func(*session)
	mu      sync.Mutex
	threads int
}

// do runs f on one of the threads and waits for its end: a COM call cannot be abandoned.
func (c *Client) do(f func(*session) error) error {
	if c == nil {
		return win32.ERROR_NOT_READY
	}
	c.start.Do(func() { c.jobs = make(chan func(*session)) })
	done := make(chan error, 1)
	job := func(s *session) { done <- f(s) }
	select {
	case c.jobs <- job:
		return <-done
	default:
	}
	c.addThread()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case c.jobs <- job:
		return <-done
	case <-timer.C:
		return win32.ERROR_BUSY
	}
}

func (c *Client) addThread() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.threads < maxThreads {
		c.threads++
		go c.serve()
	}
}

// serve runs calls on one thread.
func (c *Client) serve() {
	runtime.LockOSThread() // never unlocked: other goroutines must not see the thread's COM state
	s := &session{services: make(map[string]*ole.IDispatch)}
	s.unusable = initialize()
	for job := range c.jobs {
		job(s)
	}
}

// initialize joins the process's multithreaded apartment. An apartment that is already joined, or security that is
// already set up, is not an error.
func initialize() error {
	const alreadyJoined, securityTooLate = 0x00000001, 0x80010119 // S_FALSE, RPC_E_TOO_LATE
	if err := ole.CoInitializeEx(0, ole.COINIT_MULTITHREADED); err != nil && result(err) != alreadyJoined {
		return failure(err)
	}
	err := ole.CoInitializeSecurity(-1, rpcAuthenticationPrivacy, rpcImpersonate, 0)
	if err != nil && result(err) != securityTooLate {
		return failure(err)
	}
	return nil
}
