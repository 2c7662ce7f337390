// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"runtime/debug"
)

// heapGrowth is by how many percent the heap may grow before it is collected. What lives in it is a few megabytes, so
// the default of 100 would collect every few hundred calls, and a seventh of the agent's time would go there; this costs
// some megabytes more.
const heapGrowth = 400

// growHeap sets it, unless the environment says how memory is to be collected.
func growHeap() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(heapGrowth)
	}
}
