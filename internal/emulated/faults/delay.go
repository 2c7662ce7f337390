// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// maxDelay is the longest delay. For anything longer there is Fault.Hang.
const maxDelay = time.Hour

// A Delay is a random duration between Min and Max, fixed when they are equal. The zero value is no delay.
type Delay struct{ Min, Max time.Duration }

func (d Delay) problem() string {
	if d.Min < 0 || d.Max < d.Min || d.Max > maxDelay {
		return fmt.Sprintf("a delay is a range from low to high, within 0 and %v", maxDelay)
	}
	return ""
}

func (d Delay) draw() time.Duration {
	return d.Min + rand.N(d.Max-d.Min+1) //nolint:gosec // it need not be unpredictable
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
