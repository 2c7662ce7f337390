// SPDX-License-Identifier: Apache-2.0

package namedpipe

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/windows"
)

// How many instances of a pipe wait for clients. A client that finds none is told that all are busy, and not every client
// tries again. A set begins with one, so that all its pipes are open soon, and makes the rest in its first quiet moment, or
// when the first client comes.
const (
	spares      = 4
	firstSpares = 1
)

// How long the set sleeps, in milliseconds, until it makes the rest, or tries again what failed.
const (
	quiet = 20
	retry = 100
)

// A Set waits for the clients of any number of pipes in one goroutine. It alone asks for them, because starting such a
// request resets the event that tells of others. Windows cancels a request when the thread that made it ends. Threads of
// Go's end only together with a goroutine that is locked to its thread; a request that is lost that way is made
// again. Locking this goroutine to a thread would exclude it, but costs every agent a second thread, which the runtime
// keeps to start others from.
type Set struct {
	came  windows.Handle // auto-reset event: a client came
	tasks windows.Handle // auto-reset event: there is something to do
	ended chan struct{}  // closed when the goroutine is gone

	mu   sync.Mutex
	todo []func() // for the goroutine
	over bool     // no more tasks are taken

	admitted map[string]bool // the security descriptors that let this process make further instances

	// The goroutine's own.
	listeners map[*listener]struct{}
	spares    int
	events    [2]windows.Handle // came and tasks: what it sleeps on, where the kernel can read it whatever the stack does
}

// NewSet starts the goroutine. Close ends it.
func NewSet() (*Set, error) {
	came, err := windows.CreateEvent(nil, 0, 0, nil)
	if err != nil {
		return nil, os.NewSyscallError("CreateEvent", err)
	}
	tasks, err := windows.CreateEvent(nil, 0, 0, nil)
	if err != nil {
		_ = windows.CloseHandle(came)
		return nil, os.NewSyscallError("CreateEvent", err)
	}
	s := &Set{came: came, tasks: tasks, ended: make(chan struct{}), listeners: map[*listener]struct{}{}, spares: firstSpares, admitted: map[string]bool{}, events: [2]windows.Handle{came, tasks}}
	go s.serve()
	return s, nil
}

// Listen opens a pipe, \\.\pipe\NAME, for those whom a security descriptor in SDDL admits; see CheckSecurity. When it
// returns, clients can connect. It fails with an error that names the holder when the pipe exists already.
func (s *Set) Listen(path, security string) (net.Listener, error) {
	l, err := newListener(s, path, security)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	admitted, over := s.admitted[security], s.over
	s.mu.Unlock()
	if over {
		return nil, fmt.Errorf("cannot open the pipe %s: %w", path, net.ErrClosed)
	}
	made, err := l.open(admitted)
	if err != nil {
		return nil, fmt.Errorf("cannot open the pipe %s: %w", path, err)
	}
	if s.queue(func() { l.begin(made) }) == nil {
		for _, i := range made {
			i.close()
		}
		return nil, fmt.Errorf("cannot open the pipe %s: %w", path, net.ErrClosed)
	}
	s.mu.Lock()
	s.admitted[security] = true
	s.mu.Unlock()
	return l, nil
}

// Close closes the pipes that are still open and ends the goroutine. Connections are not touched. Later calls do nothing.
func (s *Set) Close() error {
	s.mu.Lock()
	if s.over {
		s.mu.Unlock()
		<-s.ended
		return nil
	}
	s.over = true
	_ = windows.SetEvent(s.tasks)
	s.mu.Unlock()
	<-s.ended
	return errors.Join(windows.CloseHandle(s.came), windows.CloseHandle(s.tasks))
}

// do runs a task in the goroutine and waits until it is done. It does nothing when the set is closed.
func (s *Set) do(task func()) {
	if done := s.queue(task); done != nil {
		<-done
	}
}

// queue has the goroutine run a task after those that were queued before. It returns a channel that is closed when the task
// is done, and nil when the set is closed.
func (s *Set) queue(task func()) (done chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return nil
	}
	done = make(chan struct{})
	s.todo = append(s.todo, func() { defer close(done); task() })
	_ = windows.SetEvent(s.tasks) // under the lock, as Close closes the event
	return done
}

func (s *Set) serve() {
	defer close(s.ended)
	for {
		tasks, over := s.take()
		for _, task := range tasks {
			task()
		}
		if over {
			for l := range s.listeners {
				s.drop(l)
			}
			return
		}
		if s.collect() {
			continue // what it started reset the event; tasks come first, however many clients do
		}
		event, _ := windows.WaitForMultipleObjects(s.events[:], false, s.patience())
		if event == uint32(windows.WAIT_TIMEOUT) && len(s.listeners) > 0 {
			s.spares = spares
		}
	}
}

// take returns what is to be done. After over no task comes any more.
func (s *Set) take() (tasks []func(), over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	tasks, s.todo = s.todo, nil
	return tasks, s.over
}

// collect takes in the clients that came. It tells whether there were any, or anything was started: then there may be more.
func (s *Set) collect() (changed bool) {
	for l := range s.listeners {
		changed = l.collect() || changed
	}
	return changed
}

// patience is how long, in milliseconds, the goroutine may sleep when nothing happens.
func (s *Set) patience() uint32 {
	if len(s.listeners) > 0 && s.spares < spares {
		return quiet
	}
	for l := range s.listeners {
		if len(l.free) < s.spares {
			return retry
		}
	}
	return windows.INFINITE
}

// drop closes a listener's instances, in the goroutine.
func (s *Set) drop(l *listener) {
	delete(s.listeners, l)
	for _, i := range l.free {
		i.cancel()
	}
	for _, i := range l.free {
		for !i.ready() {
			_, _ = windows.WaitForSingleObject(s.came, retry)
		}
		i.close()
	}
	l.free = nil
	l.close()
}
