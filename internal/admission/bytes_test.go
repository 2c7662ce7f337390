// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"errors"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// sends makes a client's frame of a length, without its payload.
func sends(kind byte, stream byte, length int) []byte {
	return append([]byte{byte(length >> 16), byte(length >> 8), byte(length), kind, 0, 0, 0, 0, stream}, make([]byte, length)...)
}

// When the open streams of all processes hold too much, the one that holds most loses the connection that holds most.
func TestBytesOfAllProcesses(t *testing.T) {
	const most = 200 << 10
	c := newCrowd(t, Limits{Bytes: most, Unread: time.Hour})
	c.connect(user(1), 2, true)
	c.connect(user(2), 1, true)
	heavy, light, other := c.of["pid 1 uid 0"][0], c.of["pid 1 uid 0"][1], c.of["pid 2 uid 0"][0]
	want := 0
	send := func(conn *Conn, kind byte, stream byte, length, held int) (victim *Conn) {
		t.Helper()
		victim, _ = conn.received(sends(kind, stream, length))
		want += held
		if c.cs.held != want {
			t.Errorf("frame of kind %d with %d bytes: %d bytes are held, want %d", kind, length, c.cs.held, want)
		}
		return victim
	}
	for _, conn := range []*Conn{heavy, light, other} {
		conn.received(make([]byte, clientPreface))
	}
	send(heavy, frameHeaders, 1, 100, streamBytes+100)
	send(heavy, frameContinuation, 1, 60<<10, 60<<10)
	send(heavy, frameData, 1, 20<<10, 20<<10)
	send(heavy, frameData, 3, 20<<10, 0) // of a stream that is not open
	send(light, frameHeaders, 1, 0, streamBytes)
	send(light, frameHeaders, 3, 0, streamBytes)
	send(light, frameResetStream, 3, 4, -streamBytes)
	if victim := send(other, frameHeaders, 1, 60<<10, streamBytes+60<<10); victim != nil {
		t.Error("a connection is to be closed although there is room")
	}
	if victim := send(other, frameData, 1, 20<<10, 20<<10); victim != heavy {
		t.Error("the connection that holds most is not the one to be closed")
	}
	_ = heavy.Close()
	if want -= streamBytes + 100 + 80<<10; c.cs.held != want {
		t.Errorf("when it is closed, %d bytes are held, want %d", c.cs.held, want)
	}
	_, _ = light.Close(), other.Close()
	if c.cs.held != 0 {
		t.Errorf("in the end %d bytes are held", c.cs.held)
	}
}

// A client that reads nothing holds up the agent's goroutine for a while only.
func TestAWriteThatIsNotTakenEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, Limits{Unread: time.Minute})
		c.connect(user(1), 1, true)
		began := time.Now()
		_, err := c.of["pid 1 uid 0"][0].Write([]byte("an answer"))
		if !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) != time.Minute {
			t.Errorf("after %v: %v, want a failure after a minute", time.Since(began), err)
		}
	})
}

// A call whose answer waits for its client is in the way of the client's next one.
func TestAnAnswerThatIsNotTakenTakesAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, Limits{ClientCalls: 1, Wait: time.Second, Unread: time.Hour})
		c.connect(user(1), 1, true)
		conn := c.of["pid 1 uid 0"][0]
		conn.received(append(make([]byte, clientPreface), sends(frameHeaders, 1, 0)...))
		conn.Begin(t.Context())()
		if _, err := conn.client.Enter(t.Context()); !exhausted(err) {
			t.Errorf("while the answer waits: got %v, want that the next call is refused", err)
		}
		conn.sent([]byte{0, 0, 0, frameHeaders, flagEndStream, 0, 0, 0, 1})
		if _, err := conn.client.Enter(t.Context()); err != nil {
			t.Errorf("when it is taken: %v", err)
		}
		_ = conn.Close()
	})
}
