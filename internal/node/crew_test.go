// SPDX-License-Identifier: Apache-2.0

package node

import (
	"testing"
	"testing/synctest"
	"time"
)

// sizeOf is how many goroutines a crew has.
func sizeOf(c *crew) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.size
}

func TestCrewServesWithIdleGoroutines(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCrew()
		proceed, runs := make(chan struct{}), 0
		for range 3 {
			c.run(operationFunc(func() { <-proceed }))
		}
		synctest.Wait()
		close(proceed)
		synctest.Wait()
		for range 100 {
			c.run(operationFunc(func() { runs++ }))
			synctest.Wait()
		}
		if size := sizeOf(&c); size != 3 || runs != 100 {
			t.Errorf("%d operations ran, on %d goroutines at most; want 100, 3", runs, size)
		}
	})
}

func TestCrewLetsIdleGoroutinesGo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCrew()
		proceed := make(chan struct{})
		c.run(operationFunc(func() {}))
		c.run(operationFunc(func() { <-proceed }))
		time.Sleep(idleTime + 1) // the bubble's clock
		synctest.Wait()
		if size := sizeOf(&c); size != 1 {
			t.Errorf("%d goroutines are left while one is busy, want 1", size)
		}
		close(proceed)
		time.Sleep(idleTime + 1)
		synctest.Wait()
		if size := sizeOf(&c); size != 0 {
			t.Errorf("%d goroutines are left, want none", size)
		}
		done := false
		c.run(operationFunc(func() { done = true }))
		c.busy.Wait()
		if !done {
			t.Error("an operation after that did not run")
		}
	})
}

func TestCrewDisbands(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c := newCrew()
		proceed := make(chan struct{})
		for range 3 {
			c.run(operationFunc(func() { <-proceed }))
		}
		disbanded := make(chan struct{})
		go func() { c.disband(); close(disbanded) }()
		synctest.Wait()
		select {
		case <-disbanded:
			t.Error("it does not wait for what runs")
		default:
		}
		close(proceed)
		<-disbanded
		if size := sizeOf(&c); size != 0 {
			t.Errorf("%d goroutines are left, want none", size)
		}
		done := false
		c.run(operationFunc(func() { done = true }))
		c.disband()
		if !done {
			t.Error("an operation after that did not run")
		}
	})
}
