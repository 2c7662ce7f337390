// SPDX-License-Identifier: Apache-2.0

package app

import (
	"math"
	"os"
	"runtime/debug"

	"k8s.io/klog/v2"
)

// memoryBound is how much memory the process may have.
type memoryBound struct {
	bytes uint64
	by    string // what bounds it, for people
}

// runtimeShare is the part of a bound that Go's runtime may use. The rest is for what the runtime does not count: the
// threads of hanging kernel calls, which on Windows are a thousand at worst, the program itself, what the kernel keeps
// for pipes and handles, and what is allocated while a collection is still running. .NET takes the same share of a
// container's limit.
func runtimeShare(bound uint64) int64 { return int64(min(bound, math.MaxInt64) / 4 * 3) }

// boundMemory makes Go collect garbage so often that the heap stays within the process's bound. Without that, the heap
// may grow to twice of what is in use before it is collected, and a burst of calls that fits well ends the agent. The
// share of the processor that this may take is limited to a half, by the runtime. A GOMEMLIMIT of the operator's wins.
func boundMemory(logger klog.Logger) {
	if own := os.Getenv("GOMEMLIMIT"); own != "" {
		logger.Info("memory is bounded by the environment", "GOMEMLIMIT", own)
		return
	}
	bound, err := findMemoryBound()
	switch {
	case err != nil:
		logger.Info("The process's memory limit cannot be read, and the heap is not bounded; set GOMEMLIMIT if there is one", "err", err)
	case bound.bytes == 0:
		logger.V(1).Info("memory is not bounded")
	default:
		share := runtimeShare(bound.bytes)
		debug.SetMemoryLimit(share)
		logger.Info("memory is bounded", "by", bound.by, "bytes", bound.bytes, "goRuntimeBytes", share)
	}
}
