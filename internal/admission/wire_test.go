// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

// A client that calls at just the interval after which the agent looks for answers that are not taken keeps its connection.
func TestCallsAtTheIntervalOfTheLook(t *testing.T) {
	const unread = 30 * time.Second
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, Limits{Unread: unread})
		c.connect(user(1), 1, true)
		conn := c.of["pid 1 uid 0"][0]
		open := func() int {
			c.cs.mu.Lock()
			defer c.cs.mu.Unlock()
			return len(c.cs.conns)
		}
		begins := func(stream byte) []byte { return []byte{0, 0, 0, frameHeaders, 0, 0, 0, 0, stream} }
		conn.received(append(make([]byte, clientPreface), begins(1)...))
		conn.Begin(t.Context())()
		conn.sent([]byte{0, 0, 0, frameHeaders, flagEndStream, 0, 0, 0, 1})
		time.Sleep(unread - time.Millisecond)
		conn.received(begins(3))
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		if open() != 1 {
			t.Error("the connection was closed when its second call had just begun")
		}
		time.Sleep(unread)
		synctest.Wait()
		if open() != 0 {
			t.Error("the connection stays open although its second call makes no progress")
		}
		time.Sleep(time.Hour)
	})
}

// A client that resets a stream does not hide with it an answer that it does not take, as long as the handler has not noticed.
func TestResetStreamsHideNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, Limits{Unread: time.Hour})
		c.connect(user(1), 1, true)
		conn := c.of["pid 1 uid 0"][0]
		conn.received(make([]byte, clientPreface))
		ends := map[byte]func(){}
		cancels := map[byte]context.CancelFunc{}
		for _, stream := range []byte{1, 3} {
			conn.received([]byte{0, 0, 0, frameHeaders, 0, 0, 0, 0, stream})
			ctx, cancel := context.WithCancel(t.Context())
			ends[stream], cancels[stream] = conn.Begin(ctx), cancel
		}
		unread := func() int {
			synctest.Wait()
			c.cs.mu.Lock()
			defer c.cs.mu.Unlock()
			return conn.client.unread
		}
		ends[1]() // its answer is not taken
		if got := unread(); got != 1 {
			t.Errorf("%d answers are not taken, want 1", got)
		}
		conn.received([]byte{0, 0, 4, frameResetStream, 0, 0, 0, 0, 3, 0, 0, 0, 8})
		cancels[3]() // as gRPC does
		if got := unread(); got != 1 {
			t.Errorf("when the other stream was reset, %d answers are not taken, want 1", got)
		}
		ends[3]()
		if got := unread(); got != 1 {
			t.Errorf("when its handler has returned, %d answers are not taken, want 1", got)
		}
		cancels[1]()
		_ = conn.Close()
	})
}
