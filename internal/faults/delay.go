// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxDelay bounds a delay: what is meant to last longer is a hang.
const maxDelay = time.Hour

// A Delay is a distribution of durations from Min to Max: exponential from Min on when there is a Mean, by its quantiles
// when there are some, else uniform. With both ends the same it is fixed. The zero value is none.
type Delay struct {
	Min, Max  time.Duration
	Mean      time.Duration // of an exponential one; what is beyond Max is Max
	Quantiles []Quantile    // by rising share
}

// A Quantile says that a share of the durations is not longer than At.
type Quantile struct {
	Share float64 // above 0, below 1
	At    time.Duration
}

func (d Delay) set() bool {
	return d.Min != 0 || d.Max != 0 || d.Mean != 0 || len(d.Quantiles) > 0
}

func (d Delay) problem() string {
	if d.Min < 0 || d.Max < d.Min || d.Max > maxDelay {
		return fmt.Sprintf("the delay is not a span from 0 to %v", maxDelay)
	}
	if d.Mean != 0 && (d.Mean <= d.Min || d.Mean > d.Max || len(d.Quantiles) > 0) {
		return "the mean of an exponential delay is between its ends, and there are no quantiles"
	}
	before := Quantile{0, d.Min}
	for _, q := range d.Quantiles {
		if !(q.Share > before.Share) || q.Share >= 1 || q.At < before.At || q.At > d.Max { // a share that is NaN is none
			return "the quantiles of a delay rise in share, between 0 and 1, and in duration, between its ends"
		}
		before = q
	}
	return ""
}

// draw gives a duration of the distribution.
func (d Delay) draw() time.Duration {
	if d.Mean != 0 {
		return min(d.Max, d.Min+time.Duration(rand.ExpFloat64()*float64(d.Mean-d.Min))) //nolint:gosec // nobody needs to be kept from guessing it
	}
	return d.at(rand.Float64()) //nolint:gosec // the same
}

// at is the duration that a share of the others does not exceed.
func (d Delay) at(share float64) time.Duration {
	below := Quantile{0, d.Min}
	for _, q := range append(slices.Clone(d.Quantiles), Quantile{1, d.Max}) {
		if share <= q.Share {
			part := (share - below.Share) / (q.Share - below.Share)
			return below.At + time.Duration(math.Round(part*float64(q.At-below.At)))
		}
		below = q
	}
	return d.Max
}

// ParseDelay reads a distribution: a duration, "20ms"; a span, "10ms-2s", for a uniform one; "exp:100ms", or with the
// longest one "exp:100ms,5s", for an exponential one with that mean; quantiles, "p50=10ms,p99=2s,max=5s", from 0 on and
// without max up to the last one.
func ParseDelay(text string) (Delay, error) {
	d, ok := parseDelay(text)
	if !ok || d.problem() != "" || !d.set() {
		return Delay{}, fmt.Errorf("%q is no delay, such as 20ms, 10ms-2s, exp:100ms or p50=10ms,p99=2s", text)
	}
	return d, nil
}

func parseDelay(text string) (d Delay, ok bool) {
	var err error
	if mean, isExp := strings.CutPrefix(text, "exp:"); isExp {
		mean, longest, isLong := strings.Cut(mean, ",")
		d.Max = maxDelay
		if isLong {
			d.Max, err = time.ParseDuration(longest)
		}
		if err == nil {
			d.Mean, err = time.ParseDuration(mean)
		}
		return d, err == nil && d.Mean > 0
	}
	if strings.HasPrefix(text, "p") {
		return parseQuantiles(text)
	}
	from, to, isSpan := strings.Cut(text, "-")
	if !isSpan {
		to = from
	}
	if d.Min, err = time.ParseDuration(from); err == nil {
		d.Max, err = time.ParseDuration(to)
	}
	return d, err == nil
}

func parseQuantiles(text string) (d Delay, ok bool) {
	for _, part := range strings.Split(text, ",") {
		name, value, ok := strings.Cut(part, "=")
		at, err := time.ParseDuration(value)
		if !ok || err != nil || d.Max != 0 {
			return d, false
		}
		if name == "max" {
			d.Max = at
			continue
		}
		percent, isPercentile := strings.CutPrefix(name, "p")
		share, err := strconv.ParseFloat(percent, 64)
		if !isPercentile || err != nil {
			return d, false
		}
		d.Quantiles = append(d.Quantiles, Quantile{share / 100, at})
	}
	if d.Max == 0 && len(d.Quantiles) > 0 {
		d.Max = d.Quantiles[len(d.Quantiles)-1].At
	}
	return d, true
}

// String writes the distribution as ParseDelay reads it.
func (d Delay) String() string {
	switch {
	case d.Mean != 0 && d.Max == maxDelay:
		return "exp:" + d.Mean.String()
	case d.Mean != 0:
		return fmt.Sprintf("exp:%v,%v", d.Mean, d.Max)
	case len(d.Quantiles) > 0:
		text := ""
		for _, q := range d.Quantiles {
			text += fmt.Sprintf("p%s=%v,", strconv.FormatFloat(math.Round(q.Share*1e8)/1e6, 'f', -1, 64), q.At)
		}
		return text + "max=" + d.Max.String()
	case d.Min == d.Max:
		return d.Min.String()
	}
	return fmt.Sprintf("%v-%v", d.Min, d.Max)
}
