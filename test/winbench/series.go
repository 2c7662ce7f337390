// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"slices"
	"time"
)

// A series is how long something took, each time.
type series []time.Duration

func (s series) min() time.Duration { return quantile(s, 0) }

func (s series) median() time.Duration { return quantile(s, .5) }

func (s series) p99() time.Duration { return quantile(s, .99) }

// quantile is the smallest value that at least a share q of the values does not exceed; 0 when there is none.
func quantile[T cmp.Ordered](values []T, q float64) (v T) {
	if len(values) == 0 {
		return v
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

// memory is what a process holds, in bytes.
type memory struct {
	workingSet uint64 // in physical memory, with what it shares
	private    uint64 // committed to it alone
}
