// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime/debug"
	"testing"
)

func TestGrowHeap(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	for _, test := range []struct {
		environment string
		want        int
	}{{"", heapGrowth}, {"50", 100}, {"off", 100}} {
		debug.SetGCPercent(100) // stands for what the runtime made of the environment
		t.Setenv("GOGC", test.environment)
		growHeap()
		if got := debug.SetGCPercent(100); got != test.want {
			t.Errorf("GOGC=%s: got %d, want %d", test.environment, got, test.want)
		}
	}
}
