// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	winio "github.com/Microsoft/go-winio"
	"golang.org/x/sys/windows"
)

// testTimeout is how long a test waits for something that must happen; it is not an expectation.
const testTimeout = 30 * time.Second

// pipe returns the name of a test's pipe.
func pipe(t *testing.T) string {
	return fmt.Sprintf(`\\.\pipe\csi-proxy-test-%d-%s`, os.Getpid(), strings.ReplaceAll(t.Name(), "/", "-"))
}

// name returns the endpoint's name in a pipe's path.
func name(path string) string { return strings.TrimPrefix(path, pipePrefix) }

// openPipes opens endpoints whose pipes have a security in SDDL.
func openPipes(t *testing.T, security string) Endpoints {
	t.Helper()
	p, err := Open(Options{PipeSecurity: security})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Errorf("closing the place: %v", err)
		}
	})
	return p
}

func listen(t *testing.T, p Endpoints, path string) net.Listener {
	t.Helper()
	l, err := p.Listen(name(path), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// tryOpen opens a client's end as containerd does: at once or not at all.
func tryOpen(path string) (windows.Handle, error) {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return 0, err
	}
	return windows.CreateFile(name, windows.GENERIC_READ|windows.GENERIC_WRITE, 0, nil, windows.OPEN_EXISTING, 0, 0)
}

func dial(t *testing.T, path string) net.Conn {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testTimeout)
	defer cancel()
	c, err := winio.DialPipeContext(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// echo sends each client's bytes back, until the listener is closed.
func echo(t *testing.T, l net.Listener) {
	t.Helper()
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				if !errors.Is(err, net.ErrClosed) {
					t.Errorf("Accept: %v", err)
				}
				return
			}
			serving.Go(func() {
				_, _ = io.Copy(c, c)
				_ = c.Close()
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); serving.Wait() })
}

// talk sends a text and expects it back.
func talk(c io.ReadWriter, text string) error {
	if _, err := io.WriteString(c, text); err != nil {
		return err
	}
	got := make([]byte, len(text))
	if _, err := io.ReadFull(c, got); err != nil {
		return err
	}
	if string(got) != text {
		return fmt.Errorf("got %q, want %q", got, text)
	}
	return nil
}

// hello checks that a new client of a pipe is served.
func hello(t *testing.T, path string) {
	t.Helper()
	if err := talk(dial(t, path), "hello"); err != nil {
		t.Error(err)
	}
}

func TestEveryClientIsServed(t *testing.T) {
	p := openPipes(t, Administrators)
	var dialling sync.WaitGroup
	for n := range 3 {
		path := fmt.Sprint(pipe(t), n)
		echo(t, listen(t, p, path))
		for i := range 20 {
			dialling.Go(func() {
				c, err := winio.DialPipeContext(t.Context(), path)
				if err != nil {
					t.Error(err)
					return
				}
				defer c.Close()
				for turn := range 5 {
					if err := talk(c, fmt.Sprintf("client %d, turn %d", i, turn)); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
	}
	dialling.Wait()
}

// burst opens a number of clients' ends in quick succession, or until one is refused, and lets the listener accept
// them.
func burst(t *testing.T, l net.Listener, clients int) (refused error) {
	t.Helper()
	var ends []windows.Handle
	var served []net.Conn
	defer func() {
		for _, h := range ends {
			_ = windows.CloseHandle(h)
		}
		for _, c := range served {
			_ = c.Close()
		}
	}()
	for len(ends) < clients && refused == nil {
		var h windows.Handle
		if h, refused = tryOpen(l.Addr().String()); refused == nil {
			ends = append(ends, h)
		}
	}
	for range ends {
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		served = append(served, c)
	}
	return refused
}

// TestABurstFindsFreeInstances opens four clients at once before any is accepted, from Listen on and again and again.
// None may be told that all instances are busy.
func TestABurstFindsFreeInstances(t *testing.T) {
	p := openPipes(t, Administrators)
	l := listen(t, p, pipe(t))
	for round := range 300 {
		if err := burst(t, l, 4); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
}

func TestASilentClientCostsItsInstanceOnly(t *testing.T) {
	path := pipe(t)
	echo(t, listen(t, openPipes(t, Administrators), path))
	for range 10 {
		dial(t, path) // and say nothing
	}
	hello(t, path)
}

func TestClientDisconnectsAtOnce(t *testing.T) {
	path := pipe(t)
	echo(t, listen(t, openPipes(t, Administrators), path))
	for range 50 {
		h, err := tryOpen(path)
		if errors.Is(err, windows.ERROR_PIPE_BUSY) {
			continue // the last ones are still being replaced
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = windows.CloseHandle(h)
	}
	hello(t, path)
}

func TestBothDirectionsAtOnce(t *testing.T) {
	path := pipe(t)
	l := listen(t, openPipes(t, Administrators), path)
	client := dial(t, path)
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	const size = 4 << 20 // many times the buffers
	var moving sync.WaitGroup
	for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
		sent := bytes.Repeat([]byte("0123456789abcdef"), size/16)
		moving.Go(func() {
			if _, err := pair[0].Write(sent); err != nil {
				t.Error(err)
			}
		})
		moving.Go(func() {
			got := make([]byte, size)
			if _, err := io.ReadFull(pair[1], got); err != nil || !bytes.Equal(got, sent) {
				t.Errorf("what arrived differs (%v)", err)
			}
		})
	}
	moving.Wait()
}

func TestDeadlinesAndEnds(t *testing.T) {
	path := pipe(t)
	l := listen(t, openPipes(t, Administrators), path)
	accept := func() (client, server net.Conn) {
		client = dial(t, path)
		server, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = server.Close() })
		return client, server
	}
	t.Run("a deadline ends a read, and the connection lives on", func(t *testing.T) {
		client, server := accept()
		if err := server.SetReadDeadline(time.Now()); err != nil {
			t.Fatal(err)
		}
		if _, err := server.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %v, want that the deadline is exceeded", err)
		}
		if err := server.SetReadDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.Copy(server, server) }()
		if err := talk(client, "still there"); err != nil {
			t.Error(err)
		}
	})
	t.Run("a deadline ends a write to a client that does not read", func(t *testing.T) {
		_, server := accept()
		if err := server.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if _, err := server.Write(make([]byte, 1<<20)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %v, want that the deadline is exceeded", err)
		}
	})
	t.Run("closing ends a read", func(t *testing.T) {
		_, server := accept()
		ended := make(chan error, 1)
		go func() {
			_, err := server.Read(make([]byte, 1))
			ended <- err
		}()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, os.ErrClosed) {
			t.Errorf("got %v, want that it is closed", err)
		}
	})
	t.Run("the client's end is the end of what it said", func(t *testing.T) {
		client, server := accept()
		if _, err := io.WriteString(client, "last words"); err != nil {
			t.Fatal(err)
		}
		_ = client.Close()
		got, err := io.ReadAll(server)
		if string(got) != "last words" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
	t.Run("the server's last words arrive", func(t *testing.T) {
		client, server := accept()
		if _, err := io.WriteString(server, "last words"); err != nil {
			t.Fatal(err)
		}
		_ = server.Close()
		got, err := io.ReadAll(client)
		if string(got) != "last words" || err != nil {
			t.Errorf("got %q, %v", got, err)
		}
	})
}

func TestClosing(t *testing.T) {
	t.Run("a listener", func(t *testing.T) {
		path := pipe(t)
		p := openPipes(t, Administrators)
		l := listen(t, p, path)
		other := listen(t, p, path+"-other")
		ended := make(chan error, 1)
		go func() {
			_, err := l.Accept()
			ended <- err
		}()
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept: got %v, want net.ErrClosed", err)
		}
		if err := l.Close(); err != nil {
			t.Errorf("the second Close: %v", err)
		}
		if _, err := tryOpen(path); !errors.Is(err, windows.ERROR_FILE_NOT_FOUND) {
			t.Errorf("opening it: got %v, want ERROR_FILE_NOT_FOUND", err)
		}
		echo(t, other)
		hello(t, path+"-other")
		again := listen(t, p, path) // the name is free
		echo(t, again)
		hello(t, path)
	})
	t.Run("a place", func(t *testing.T) {
		path := pipe(t)
		p := openPipes(t, Administrators)
		l := listen(t, p, path)
		waiting := dial(t, path) // connected, but never accepted
		if err := p.Close(); err != nil {
			t.Error(err)
		}
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept: got %v, want net.ErrClosed", err)
		}
		if _, err := waiting.Read(make([]byte, 1)); err == nil {
			t.Error("the client that was not accepted was not disconnected")
		}
		if _, err := p.Listen(name(path), false); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Listen: got %v, want net.ErrClosed", err)
		}
	})
}

// TestClientKeepsItsEndOpen: such a client does not keep others from serving the pipe's name again.
func TestClientKeepsItsEndOpen(t *testing.T) {
	path := pipe(t)
	first := openPipes(t, Administrators)
	l := listen(t, first, path)
	held, err := tryOpen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = windows.CloseHandle(held) }()
	accepted, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	_ = accepted.Close()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	echo(t, listen(t, openPipes(t, Administrators), path))
	hello(t, path)
}

// TestNothingIsLeftOpen counts the process's open handles.
func TestNothingIsLeftOpen(t *testing.T) {
	path := pipe(t)
	p := openPipes(t, Administrators)
	round := func() {
		l := listen(t, p, path)
		var serving sync.WaitGroup
		for range 8 {
			serving.Go(func() {
				c, err := l.Accept()
				if err != nil {
					t.Error(err)
					return
				}
				_, _ = io.Copy(c, c)
				_ = c.Close()
			})
		}
		for range 8 {
			c := dial(t, path)
			if err := talk(c, "hello"); err != nil {
				t.Error(err)
			}
			_ = c.Close()
		}
		serving.Wait()
		dial(t, path) // no server accepts it
		_ = l.Close()
	}
	round()
	before := handles(t)
	for range 20 {
		round()
	}
	// The clients' unaccepted ends, one per round, are open until the test ends. Threads of the runtime come and go.
	if after := handles(t); after > before+20+10 {
		t.Errorf("got %d handles after 20 rounds, %d before them", after, before)
	}
}

func handles(t *testing.T) uint32 {
	t.Helper()
	var count uint32
	r, _, err := windows.NewLazySystemDLL("kernel32.dll").NewProc("GetProcessHandleCount").
		Call(uintptr(windows.CurrentProcess()), addressOf(&count))
	if r == 0 {
		t.Fatal(err)
	}
	return count
}
