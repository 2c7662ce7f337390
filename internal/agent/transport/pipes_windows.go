// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/windows"
)

// minIdle is how many instances of a pipe wait for clients: not every client tries again after ERROR_PIPE_BUSY.
const minIdle = 4

// retry is how long, in milliseconds, the goroutine sleeps before it retries after a failure.
const retry = 100

// pipes implements Endpoints by named pipes. One goroutine makes all requests to wait for a client, since each request
// resets the event that signals other clients. Windows cancels a request when the thread that made it ends: then it is
// made again. Locking the goroutine to a thread would prevent that, but the runtime would keep a second one.
type pipes struct {
	prefix   string // of the names
	security string // SDDL of endpoints that are not private
	private  string // SDDL of private endpoints

	connected windows.Handle // auto-reset event: a client connected
	tasks     windows.Handle // auto-reset event: there is something to do
	ended     chan struct{}  // closed when the goroutine is gone

	mu   sync.Mutex
	todo []func() // for the goroutine
	over bool     // no more tasks are accepted

	// Only for the goroutine.
	listeners map[*pipeListener]struct{}
	// connected and tasks, for which it waits. Not on the stack, which may move while the kernel reads them.
	events [2]windows.Handle
}

// Open starts the goroutine for an agent's pipes. Listen finds out whether a name is free.
func Open(o Options) (Endpoints, error) {
	private := Administrators
	if o.OwnUser {
		user, err := currentUser()
		if err != nil {
			return nil, err
		}
		private = user
	}
	connected, err := windows.CreateEvent(nil, 0, 0, nil)
	if err != nil {
		return nil, os.NewSyscallError("CreateEvent", err)
	}
	tasks, err := windows.CreateEvent(nil, 0, 0, nil)
	if err != nil {
		_ = windows.CloseHandle(connected)
		return nil, os.NewSyscallError("CreateEvent", err)
	}
	p := &pipes{
		prefix: o.PipePrefix, security: cmp.Or(o.PipeSecurity, private), private: private,
		connected: connected, tasks: tasks, ended: make(chan struct{}),
		listeners: map[*pipeListener]struct{}{}, events: [2]windows.Handle{connected, tasks},
	}
	go p.serve()
	return p, nil
}

// Listen opens a pipe for clients to connect. If it exists already, its error names the process that serves it.
func (p *pipes) Listen(name string, private bool) (net.Listener, error) {
	security := p.security
	if private {
		security = p.private
	}
	l, err := newPipeListener(p, p.Path(name), security)
	if err != nil {
		return nil, err
	}
	if err := l.open(); err != nil {
		return nil, fmt.Errorf("cannot open the pipe %s: %w", l.path, err)
	}
	if !p.post(l.begin) { // clients can connect already: the caller need not wait for begin
		l.abandon()
		return nil, fmt.Errorf("cannot open the pipe %s: %w", l.path, net.ErrClosed)
	}
	return l, nil
}

// Path returns the pipe's name.
func (p *pipes) Path(name string) string { return pipePrefix + p.prefix + name }

// Close closes the open pipes, but no connections, and ends the goroutine. Later calls do nothing.
func (p *pipes) Close() error {
	p.mu.Lock()
	if p.over {
		p.mu.Unlock()
		<-p.ended
		return nil
	}
	p.over = true
	_ = windows.SetEvent(p.tasks)
	p.mu.Unlock()
	<-p.ended
	return errors.Join(windows.CloseHandle(p.connected), windows.CloseHandle(p.tasks))
}

// post lets the goroutine run a task soon. It returns false, and runs nothing, after Close.
func (p *pipes) post(task func()) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over {
		return false
	}
	if p.todo = append(p.todo, task); len(p.todo) == 1 {
		_ = windows.SetEvent(p.tasks) // under the lock, as Close closes the event
	}
	return true
}

// do runs a task in the goroutine, and waits until it is done. After Close it does nothing.
func (p *pipes) do(task func()) {
	done := make(chan struct{})
	if p.post(func() { defer close(done); task() }) {
		<-done
	}
}

func (p *pipes) serve() {
	defer close(p.ended)
	for {
		tasks, over := p.take()
		for _, task := range tasks {
			task()
		}
		if over {
			for l := range p.listeners {
				p.drop(l)
			}
			return
		}
		changed := false
		for l := range p.listeners {
			changed = l.collect() || changed
		}
		if changed {
			// New requests have reset the event, which may hide clients that connected: look again, after the tasks.
			continue
		}
		_, _ = windows.WaitForMultipleObjects(p.events[:], false, p.waitLimit())
	}
}

// take returns the tasks to run. When over is set, no more will follow.
func (p *pipes) take() (tasks []func(), over bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	tasks, p.todo = p.todo, nil
	return tasks, p.over
}

// waitLimit returns how long, in milliseconds, the goroutine may sleep when nothing happens.
func (p *pipes) waitLimit() uint32 {
	for l := range p.listeners {
		if len(l.free) < minIdle {
			return retry
		}
	}
	return windows.INFINITE
}

// drop closes a listener's instances, in the goroutine.
func (p *pipes) drop(l *pipeListener) {
	delete(p.listeners, l)
	for _, i := range l.free {
		i.cancel()
	}
	for _, i := range l.free {
		for !i.ready() {
			_, _ = windows.WaitForSingleObject(p.connected, retry)
		}
		i.close()
	}
	l.free = nil
	l.close()
}
