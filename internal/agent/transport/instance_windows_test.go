// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/windows"
)

// open returns a place with one pipe, for this test's user.
func open(t *testing.T) (*pipes, *pipeListener) {
	t.Helper()
	p, err := Open(Options{OwnUser: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	l, err := p.Listen(name(pipe(t)), false)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*pipes), l.(*pipeListener) //nolint:forcetypeassert // Windows makes no other place
}

// TestLostRequestIsRetried cancels the requests of the free instances, as Windows does when the thread that made
// them ends.
func TestLostRequestIsRetried(t *testing.T) {
	p, l := open(t)
	p.do(func() {
		if len(l.free) == 0 {
			t.Error("no instance waits for clients")
		}
		for _, i := range l.free {
			i.cancel()
		}
	})
	waiting := func() (all bool) {
		p.do(func() {
			all = len(l.free) > 0
			for _, i := range l.free {
				all = all && !i.ready()
			}
		})
		return all
	}
	for until := time.Now().Add(time.Minute); !waiting(); {
		if time.Now().After(until) {
			t.Fatal("an instance that lost its request does not wait for clients")
		}
	}

	go func() {
		server, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(server, "hello")
		_ = server.Close()
	}()
	client, err := os.OpenFile(l.path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	if got, _ := io.ReadAll(client); string(got) != "hello" {
		t.Errorf("the server's word: got %q, want hello", got)
	}
}

// TestClientsBeyondTheBacklogWait opens more clients than may wait for Accept, and then accepts them all.
func TestClientsBeyondTheBacklogWait(t *testing.T) {
	p, l := open(t)
	const clients = 2 * backlog
	var opened atomic.Int32
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for {
				c, err := os.OpenFile(l.path, os.O_RDWR, 0)
				if errors.Is(err, windows.ERROR_PIPE_BUSY) {
					runtime.Gosched()
					continue
				}
				opened.Add(1)
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(io.Discard, c)
				_ = c.Close()
				return
			}
		})
	}
	look := func() (waiting, free int) {
		p.do(func() {
			l.mu.Lock()
			defer l.mu.Unlock()
			waiting, free = len(l.clients), len(l.free)
		})
		return waiting, free
	}
	for until := time.Now().Add(time.Minute); ; {
		waiting, free := look()
		if waiting >= backlog && free == 0 || opened.Load() == clients {
			break
		}
		if time.Now().After(until) {
			t.Fatalf("%d clients wait and %d instances are free, want %d and none", waiting, free, backlog)
		}
	}
	// Instances that were free when the backlog became full get clients too, and so do those that replace them meanwhile.
	if waiting, _ := look(); waiting > backlog+2*minIdle {
		t.Errorf("%d clients wait for Accept, want %d at most", waiting, backlog+2*minIdle)
	}
	for range clients {
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		_ = c.Close()
	}
	all.Wait()
	if n := opened.Load(); n != clients {
		t.Errorf("%d clients got in, want %d", n, clients)
	}
}

// TestAdopting takes over a name that was left behind, with another security.
func TestAdopting(t *testing.T) {
	_, l := open(t)
	security, err := parseSecurity(Administrators)
	if err != nil {
		t.Fatal(err)
	}
	i, err := reclaim(l.name, security)
	if err != nil {
		t.Fatal(err)
	}
	defer i.close()
	got, err := windows.GetSecurityInfo(i.handle, windows.SE_KERNEL_OBJECT, windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		t.Fatal(err)
	}
	if user, _ := currentUser(); strings.Contains(user, got.String()) || strings.Count(got.String(), "(A;") != 2 {
		t.Errorf("the name's security is %s, want that of %s", got, Administrators)
	}
}
