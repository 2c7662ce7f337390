// SPDX-License-Identifier: Apache-2.0

//go:build unix

package server_test

import (
	"runtime/metrics"
	"syscall"
	"testing"
)

// goroutinesOfACall is how many goroutines a call over a new connection makes, all of them gRPC's. Under an attack each waits for
// a processor behind hundreds of others, and has them wait.
const goroutinesOfACall = 5

func TestGoroutinesOfACall(t *testing.T) {
	socket := startReads(t)
	const calls = 100
	before := goroutinesMade()
	for range calls {
		_ = syscall.Close(callOnce(t, socket))
	}
	if each := (goroutinesMade() - before + calls/2) / calls; each != goroutinesOfACall { // others of the program make a few, too
		t.Errorf("a call makes %d goroutines, want %d", each, goroutinesOfACall)
	}
}

func goroutinesMade() int {
	s := []metrics.Sample{{Name: "/sched/goroutines-created:goroutines"}}
	metrics.Read(s)
	return int(s[0].Value.Uint64())
}
