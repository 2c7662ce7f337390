// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/windows"
	"k8s.io/klog/v2"
)

// The prefix of the paths of this machine's pipes, and their maximal length.
// https://learn.microsoft.com/windows/win32/ipc/pipe-names
const (
	pipePrefix  = `\\.\pipe\`
	maxPipePath = 256
)

// backlog is how many connected clients may wait for Accept. They cost kernel memory; further ones find no instance.
const backlog = 64

// pipeListener is the net.Listener of one pipe.
type pipeListener struct {
	pipes    *pipes
	path     string
	name     *windows.NTUnicodeString
	security *windows.SECURITY_DESCRIPTOR
	owner    string // of the name, as a SID; "" if it could not be read

	// Used only by the goroutine of pipes, after begin.
	free    []*instance // without a client
	failing bool        // the last attempt to make an instance failed

	mu        sync.Mutex
	changed   sync.Cond        // guards the fields below
	clients   []windows.Handle // connected, not yet accepted
	saturated bool             // no instance is free, because so many clients wait
	over      bool
}

func newPipeListener(p *pipes, path, security string) (*pipeListener, error) {
	name, ok := strings.CutPrefix(path, pipePrefix)
	if !ok || name == "" || len(path) > maxPipePath || strings.ContainsAny(name, "\x00\\/") {
		return nil, fmt.Errorf("%q is not a pipe of this machine, %sNAME", path, pipePrefix)
	}
	nt, err := windows.NewNTUnicodeString(`\??\pipe\` + name)
	if err != nil {
		return nil, fmt.Errorf("%q cannot be a pipe's name: %w", path, err)
	}
	descriptor, err := parseSecurity(security)
	if err != nil {
		return nil, fmt.Errorf("the security of the pipe %s: %w", path, err)
	}
	l := &pipeListener{pipes: p, path: path, name: nt, security: descriptor}
	l.changed.L = &l.mu
	return l, nil
}

// open makes the first instances, ready for clients, in its caller's goroutine: one pipe does not wait for others.
func (l *pipeListener) open() error {
	first, err := newInstance(l.name, l.security, makeName, 0)
	if errors.Is(err, windows.ERROR_ACCESS_DENIED) && abandoned(l.path) {
		first, err = reclaim(l.name, l.security)
	}
	if err != nil {
		return explain(err, l.path, true)
	}
	l.owner, _ = ownerOf(first.handle)
	l.free = []*instance{first}
	for len(l.free) < minIdle {
		next, err := newInstance(l.name, l.security, findName, 0)
		if err != nil {
			l.abandon()
			return explain(err, l.path, false)
		}
		l.free = append(l.free, next)
	}
	return nil
}

// abandon closes the instances of a pipe before begin.
func (l *pipeListener) abandon() {
	for _, i := range l.free {
		i.close()
	}
}

// begin asks for clients, in the goroutine. Instances that cannot wait are closed, and collect makes others.
func (l *pipeListener) begin() {
	l.pipes.listeners[l] = struct{}{}
	l.free = slices.DeleteFunc(l.free, func(i *instance) bool { return i.await(l.pipes.connected) != nil })
}

// explain adds to the error of making an instance what it means.
func explain(err error, path string, first bool) error {
	denied := errors.Is(err, windows.ERROR_ACCESS_DENIED)
	switch {
	// the latter if the pipe's creator allows no more instances
	case first && (denied || errors.Is(err, windows.ERROR_PIPE_BUSY)):
		return fmt.Errorf("%s: %w", holder(path), err)
	case !denied:
		return err
	default:
		return fmt.Errorf("its security does not admit this process itself, which must be allowed to make further "+
			"instances: give SYSTEM, or the user that runs this, all access: %w", err)
	}
}

// collect replaces the instances that have a client, and then hands these clients to Accept, so that there are free
// instances again before a client is accepted. It reports whether anything changed; then its caller calls it again.
func (l *pipeListener) collect() (changed bool) {
	var waiting, done []*instance
	for _, i := range l.free {
		switch {
		case !i.ready():
			waiting = append(waiting, i)
		case i.cancelled(): // its thread ended
			changed = true
			if i.await(l.pipes.connected) == nil {
				waiting = append(waiting, i)
			}
		default:
			done = append(done, i)
		}
	}
	l.free = waiting
	if len(done) == 0 && len(l.free) >= minIdle {
		return changed
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
		l.pipes.drop(l) // Accept returns net.ErrClosed then
	}
	return changed || made || len(done) > 0
}

// errTaken means that the pipe's last instance was closed, and another process has made the name since.
var errTaken = errors.New("another process has taken the pipe's name")

// replenish makes instances until there are enough, and reports whether it made any. After an error it is called again.
func (l *pipeListener) replenish() (made bool, err error) {
	for len(l.free) < minIdle && !l.full() {
		i, err := l.another()
		if err == nil {
			err = i.await(l.pipes.connected)
		}
		if err != nil && !l.failing {
			klog.Background().Error(err, "the pipe has fewer free instances than it should", "pipe", l.path, "free", len(l.free))
		}
		l.failing = err != nil
		if err != nil {
			l.resume() // waiting gains nothing
			return made, err
		}
		l.free = append(l.free, i)
		l.resume()
		made = true
	}
	return made, nil
}

// another makes a further instance. If none is free, the name may have gone with the last and be another process's.
func (l *pipeListener) another() (*instance, error) {
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

// full reports whether so many clients wait for Accept that no more may come. If no instance is free then, the last of
// the clients waits until one is free again: the pipe's name exists only as long as its instances.
func (l *pipeListener) full() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	full := len(l.clients) >= backlog
	if full && len(l.free) == 0 {
		l.saturated = true
	}
	return full
}

// resume lets Accept have all clients.
func (l *pipeListener) resume() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.saturated = false
	l.changed.Broadcast()
}

// deliver gives a connected handle to Accept.
func (l *pipeListener) deliver(h windows.Handle) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.clients = append(l.clients, h)
	l.changed.Broadcast()
}

// Accept returns the next client's connection, and net.ErrClosed after Close.
func (l *pipeListener) Accept() (net.Conn, error) {
	h, err := l.next()
	if err != nil {
		return nil, err
	}
	peer, process := peerOf(h)
	return &Conn{Conn: pipeConn{os.NewFile(uintptr(h), l.path), l.Addr()}, Peer: peer, Process: process}, nil
}

// next waits for the next client.
func (l *pipeListener) next() (windows.Handle, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.over && (len(l.clients) == 0 || len(l.clients) == 1 && l.saturated) {
		l.changed.Wait()
	}
	if l.over {
		return 0, net.ErrClosed
	}
	h := l.clients[0]
	l.clients = l.clients[1:]
	if len(l.clients) == backlog-1 {
		_ = windows.SetEvent(l.pipes.tasks) // the event is open: listeners are closed before pipes
	}
	return h, nil
}

// Close closes the free instances and disconnects clients that were not accepted. Later calls do nothing.
func (l *pipeListener) Close() error {
	l.pipes.do(func() { l.pipes.drop(l) })
	return nil
}

// close ends Accept, in the goroutine.
func (l *pipeListener) close() {
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
	l.changed.Broadcast()
}

// Addr returns the pipe's path.
func (l *pipeListener) Addr() net.Addr { return addr(l.path) }

// addr is the address of a pipe.
type addr string

func (addr) Network() string  { return "pipe" }
func (a addr) String() string { return string(a) }

// pipeConn is a client's connection. os.File does the rest: it supports overlapped handles, and deadlines on them.
type pipeConn struct {
	*os.File
	pipe net.Addr
}

func (c pipeConn) LocalAddr() net.Addr { return c.pipe }

// RemoteAddr returns the same pipe: the client's end has no address of its own.
func (c pipeConn) RemoteAddr() net.Addr { return c.pipe }
