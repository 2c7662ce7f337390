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

// backlog is how many connected clients may wait for Accept. Each is memory of the kernel's that nobody charges to the
// client; the next ones find no free instance, and wait.
const backlog = 64

// listener is the net.Listener of one pipe.
type listener struct {
	set      *Set
	path     string
	name     *windows.NTUnicodeString
	security *windows.SECURITY_DESCRIPTOR
	owner    string // of the name, as SDDL has it; "" when it could not be asked for

	free    []*instance // the set's goroutine's own
	failing bool        // likewise: the last instance could not be made

	arrived chan struct{} // one element: there may be clients
	closed  chan struct{}

	mu      sync.Mutex
	clients []windows.Handle // connected, not yet accepted
	starved bool             // no instance is free, as so many wait
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
	i, err := newInstance(l.name, l.security, makeName, 0)
	if errors.Is(err, windows.ERROR_ACCESS_DENIED) && abandoned(l.path) {
		i, err = adopt(l.name, l.security)
	}
	if err != nil {
		return nil, explain(err, l.path, true)
	}
	l.owner, _ = ownerOf(i.handle)
	if alone {
		return []*instance{i}, nil
	}
	second, err := newInstance(l.name, l.security, findName, 0)
	if err != nil {
		i.close()
		return nil, explain(err, l.path, false)
	}
	return []*instance{i, second}, nil
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
	denied := errors.Is(err, windows.ERROR_ACCESS_DENIED)
	switch {
	case first && (denied || errors.Is(err, windows.ERROR_PIPE_BUSY)): // the latter when its maker allows no more instances
		return fmt.Errorf("%s: %w", holder(path), err)
	case !denied:
		return err
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
		switch {
		case !i.ready():
			waiting = append(waiting, i)
		case i.cancelled(): // with the thread that asked for its client
			changed = true
			if i.await(l.set.came) == nil {
				waiting = append(waiting, i)
			}
		default:
			done = append(done, i)
		}
	}
	l.free = waiting
	if len(done) == 0 && len(l.free) >= l.set.spares {
		return changed
	}
	if len(done) > 0 {
		l.set.spares = spares // others may come close behind
	}
	made, err := l.replenish()
	for _, i := range done {
		if i.connected() {
			l.deliver(i.handle)
		} else {
			i.close()
		}
	}
	if errors.Is(err, errTaken) {
		l.set.drop(l) // which Accept tells
	}
	return changed || made || len(done) > 0
}

// errTaken says that the pipe's last instance went, and somebody else made the name since.
var errTaken = errors.New("the pipe's name has been taken by somebody else")

// replenish makes instances until there are enough. What fails is tried again soon. It tells whether it made any.
func (l *listener) replenish() (made bool, err error) {
	for len(l.free) < l.set.spares && !l.full() {
		i, err := l.another()
		if err == nil {
			err = i.await(l.set.came)
		}
		if err != nil && !l.failing {
			klog.Background().Error(err, "the pipe has fewer free instances than it should", "pipe", l.path, "free", len(l.free))
		}
		l.failing = err != nil
		if err != nil {
			l.fed() // nothing is gained by waiting
			return made, err
		}
		l.free = append(l.free, i)
		l.fed()
		made = true
	}
	return made, nil
}

// another makes a further instance. While none is free the name may have gone with the last one, and be somebody else's now.
func (l *listener) another() (*instance, error) {
	i, err := newInstance(l.name, l.security, findName, 0)
	if errors.Is(err, windows.ERROR_FILE_NOT_FOUND) {
		if i, err = newInstance(l.name, l.security, makeName, 0); errors.Is(err, windows.ERROR_ACCESS_DENIED) {
			return nil, errTaken
		}
		return i, err
	}
	if err != nil || len(l.free) > 0 || l.owner == "" {
		return i, err
	}
	if owner, err := ownerOf(i.handle); err != nil || owner != l.owner {
		i.close()
		return nil, errTaken
	}
	return i, nil
}

// full tells that so many clients wait for Accept that no more may come. When none is free then, the last of them waits until
// one is again: the pipe's name lives by its instances.
func (l *listener) full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	full := len(l.clients) >= backlog
	if full && len(l.free) == 0 {
		l.starved = true
	}
	return full
}

// fed lets all clients go to Accept.
func (l *listener) fed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.starved = false
	l.wake()
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
	if l.over || len(l.clients) == 0 || len(l.clients) == 1 && l.starved {
		return 0, false
	}
	h := l.clients[0]
	l.clients = l.clients[1:]
	if len(l.clients) == backlog-1 {
		_ = windows.SetEvent(l.set.tasks) // it is open: the set closes its listeners first
	}
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
