// SPDX-License-Identifier: Apache-2.0

package admission

import (
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
