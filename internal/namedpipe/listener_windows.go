// SPDX-License-Identifier: Apache-2.0

package namedpipe

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"

	"golang.org/x/sys/windows"
	"k8s.io/klog/v2"
)

// prefix is how the paths of this machine's pipes begin, and maxPath how long they may be.
//
// https://learn.microsoft.com/windows/win32/ipc/pipe-names
const (
	prefix  = `\\.\pipe\`
	maxPath = 256
)

// listener is the net.Listener of one pipe.
type listener struct {
	set      *Set
	path     string
	name     *windows.NTUnicodeString
	security *windows.SECURITY_DESCRIPTOR

	free    []*instance // the set's goroutine's own
	failing bool        // likewise: the last instance could not be made

	arrived chan struct{} // one element: there may be clients
	closed  chan struct{}

	mu      sync.Mutex
	clients []windows.Handle // connected, not yet accepted
	over    bool
}

func newListener(s *Set, path, security string) (*listener, error) {
	name, ok := strings.CutPrefix(path, prefix)
	if !ok || name == "" || len(path) > maxPath || strings.ContainsAny(name, "\x00\\/") {
		return nil, fmt.Errorf("%q is no pipe of this machine, %sNAME", path, prefix)
	}
	nt, err := windows.NewNTUnicodeString(`\??\pipe\` + name)
	if err != nil {
		return nil, fmt.Errorf("%q cannot be a pipe's name: %w", path, err)
	}
	descriptor, err := parseSecurity(security)
	if err != nil {
		return nil, fmt.Errorf("the security of the pipe %s: %w", path, err)
	}
	return &listener{
		set: s, path: path, name: nt, security: descriptor,
		arrived: make(chan struct{}, 1), closed: make(chan struct{}),
	}, nil
}

// open makes the first instance, and a second one where nobody knows yet whether the pipe's security admits this process:
// clients can connect to them at once. It runs in its caller's goroutine, so that opening many pipes waits for no other.
func (l *listener) open(alone bool) (made []*instance, err error) {
	for len(made) == 0 || len(made) == 1 && !alone {
		i, err := newInstance(l.name, l.security, len(made) == 0)
		if err != nil {
			for _, i := range made {
				i.close()
			}
			return nil, explain(err, l.path, len(made) == 0)
		}
		made = append(made, i)
	}
	return made, nil
}

// begin waits for clients, in the set's goroutine.
func (l *listener) begin(made []*instance) {
	l.set.listeners[l] = struct{}{}
	for _, i := range made {
		if err := i.await(l.set.came); err != nil {
			klog.Background().Error(err, "the pipe cannot wait for a client", "pipe", l.path)
			continue
		}
		l.free = append(l.free, i)
	}
	if len(l.free) == 0 {
		l.set.drop(l) // which Accept tells
	}
}

// explain says what a failure to make an instance means.
func explain(err error, path string, first bool) error {
	switch {
	case !errors.Is(err, windows.ERROR_ACCESS_DENIED):
		return err
	case first:
		return fmt.Errorf("%s: %w", holder(path), err)
	default:
		return fmt.Errorf("its security does not admit this process itself, which must be allowed to make further instances: "+
			"give SYSTEM, or the user that runs this, all access: %w", err)
	}
}

// collect replaces the instances that got a client, and then hands the clients to Accept: whoever accepted one knows
// that there are free instances again. It tells whether it made or took any: the caller then has to look again.
func (l *listener) collect() (changed bool) {
	waiting, done := []*instance(nil), []*instance(nil)
	for _, i := range l.free {
		if i.ready() {
			done = append(done, i)
		} else {
			waiting = append(waiting, i)
		}
	}
	if len(done) == 0 && len(l.free) >= l.set.spares {
		return false
	}
	if len(done) > 0 {
		l.set.spares = spares // others may come close behind
	}
	l.free = waiting
	made := l.replenish()
	for _, i := range done {
		if i.connected() {
			l.deliver(i.handle)
		} else {
			i.close()
		}
	}
	return made || len(done) > 0
}

// replenish makes instances until there are enough. What fails is tried again soon. It tells whether it made any.
func (l *listener) replenish() (made bool) {
	for len(l.free) < l.set.spares {
		i, err := newInstance(l.name, l.security, false)
		if err == nil {
			err = i.await(l.set.came)
		}
		if err != nil && !l.failing {
			klog.Background().Error(err, "the pipe has fewer free instances than it should", "pipe", l.path, "free", len(l.free))
		}
		l.failing = err != nil
		if err != nil {
			return made
		}
		l.free = append(l.free, i)
		made = true
	}
	return made
}

// deliver gives a connected handle to Accept.
func (l *listener) deliver(h windows.Handle) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clients = append(l.clients, h)
	l.wake()
}

func (l *listener) wake() {
	select {
	case l.arrived <- struct{}{}:
	default:
	}
}

// Accept returns the next client's connection, and net.ErrClosed after Close.
func (l *listener) Accept() (net.Conn, error) {
	for {
		if h, ok := l.next(); ok {
			return newConn(h, l.path), nil
		}
		select {
		case <-l.arrived:
		case <-l.closed:
			return nil, net.ErrClosed
		}
	}
}

func (l *listener) next() (windows.Handle, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || len(l.clients) == 0 {
		return 0, false
	}
	h := l.clients[0]
	l.clients = l.clients[1:]
	if len(l.clients) > 0 {
		l.wake() // another Accept may wait
	}
	return h, true
}

// Close stops listening: the free instances go, and with the last connection the pipe's name. Clients that nobody
// accepted are disconnected. Later calls do nothing.
func (l *listener) Close() error {
	l.set.do(func() { l.set.drop(l) })
	return nil
}

// close ends Accept, in the set's goroutine.
func (l *listener) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return
	}
	l.over = true
	for _, h := range l.clients {
		_ = windows.CloseHandle(h)
	}
	l.clients = nil
	close(l.closed)
}

// Addr is the pipe's path.
func (l *listener) Addr() net.Addr { return addr(l.path) }

// addr is the address of a pipe.
type addr string

func (addr) Network() string  { return "pipe" }
func (a addr) String() string { return string(a) }
