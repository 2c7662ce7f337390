// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// maxDelay bounds a delay: what is meant to last longer is a hang.
const maxDelay = time.Hour

// A Delay is a duration by chance between two ends. With both ends the same it is fixed. The zero value is none.
type Delay struct{ Min, Max time.Duration }

func (d Delay) problem() string {
	if d.Min < 0 || d.Max < d.Min || d.Max > maxDelay {
		return fmt.Sprintf("the delay does not go from 0 or more up to at most %v", maxDelay)
	}
	return ""
}

func (d Delay) draw() time.Duration {
	return d.Min + rand.N(d.Max-d.Min+1) //nolint:gosec // nobody needs to be kept from guessing it
}

// ParseDelay reads a duration, "20ms", or two, "10ms-2s".
func ParseDelay(text string) (d Delay, err error) {
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	if d.Min, err = time.ParseDuration(from); err == nil {
		d.Max, err = time.ParseDuration(to)
	}
	if err != nil || d.problem() != "" || d == (Delay{}) {
		return Delay{}, fmt.Errorf("%q is not a delay, such as 20ms or 10ms-2s", text)
	}
	return d, nil
}

// String writes the delay as ParseDelay reads it.
func (d Delay) String() string {
	if d.Min == d.Max {
		return d.Min.String()
	}
	return fmt.Sprintf("%v-%v", d.Min, d.Max)
}
