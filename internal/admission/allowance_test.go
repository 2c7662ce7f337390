// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"testing"
	"testing/synctest"
	"time"
)

// lines returns how many of a client's lines may be written at once.
func (c *Client) lines() (written int) {
	for range 2 * clientBurst {
		if ok, _ := c.MayLog(); ok {
			written++
		}
	}
	return written
}

// A process that connects again finds what it has left of its lines, until it has rested.
func TestLinesOfAProcessThatComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, Limits{})
		again := func() *Conn {
			c.connect(user(1), 1, true)
			conns := c.of["pid 1 uid 0"]
			return conns[len(conns)-1]
		}
		for i, want := range []int{clientBurst, 0, 0} {
			conn := again()
			if got := conn.client.lines(); got != want {
				t.Errorf("connection %d: %d lines, want %d", i, got, want)
			}
			_ = conn.Close()
		}
		time.Sleep(clientBurst*clientEvery + time.Second)
		synctest.Wait()
		c.cs.mu.Lock()
		known := len(c.cs.known)
		c.cs.mu.Unlock()
		if known != 0 {
			t.Error("a process that has rested is still known")
		}
		conn := again()
		if got := conn.client.lines(); got != clientBurst {
			t.Errorf("after a rest: %d lines, want %d", got, clientBurst)
		}
		_ = conn.Close()
		time.Sleep(time.Minute)
	})
}

// Many processes together have no more lines than all may.
func TestLinesOfManyProcesses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t, Limits{})
		total := 0
		for pid := range uint32(20) {
			c.connect(user(pid+1), 1, true)
		}
		for _, conns := range c.of {
			total += conns[0].client.lines()
			_ = conns[0].Close()
		}
		if total != allBurst {
			t.Errorf("%d lines at once, want %d", total, allBurst)
		}
		time.Sleep(time.Minute)
	})
}
