// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// When a load is over, little is allocated any more: Go's next collection may be minutes away, and until then the
// process keeps all that the load needed, on a node where drivers' and pods' memory is short.
const (
	quietTime  = 5 * time.Second
	quietBytes = 512 << 10 // allocated in that time: probes and a few calls
	loadBytes  = 16 << 20  // allocated since memory was last given back: worth a collection
)

// giveBackMemory returns unused memory to the system whenever a load is over, until the context ends.
func giveBackMemory(ctx context.Context) {
	tick := time.NewTicker(quietTime)
	defer tick.Stop()
	last := allocated()
	given := last
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now := allocated()
		if now-last < quietBytes && now-given >= loadBytes {
			runtime.GC() // what pools held is free only after a second collection
			debug.FreeOSMemory()
			given = now
		}
		last = now
	}
}

// allocated is how many bytes the process has ever allocated on its heap.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// memoryLimit is how much Go's runtime uses before it collects garbage more often: three quarters of what the chart
// allows. The rest is for what the runtime does not count, such as the threads of hanging kernel calls.
const memoryLimit = 192 << 20

// limitMemory keeps the heap from growing to twice of what is in use, unless GOMEMLIMIT says how much it may be.
func limitMemory() {
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memoryLimit)
	}
}
