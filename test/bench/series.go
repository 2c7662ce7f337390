// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"strconv"
	"time"
)

// A series is what all turns of one subject gave: figures for each turn, to be compared with those of the other
// subjects in the same round, and all latencies.
type series struct {
	medians   []float64 // ns
	rates     []float64 // calls a second
	latencies []time.Duration
}

func (s *series) add(t taken) {
	s.medians = append(s.medians, quantile(t.latencies, .5))
	s.rates = append(s.rates, float64(len(t.latencies))/t.in.Seconds())
	s.latencies = append(s.latencies, t.latencies...)
}

// comparison is how a series stands to another that was taken in the same rounds.
type comparison struct {
	median float64 // of its median latency to the other's
	p99    float64 // of its 99th percentile to the other's
	rate   float64 // of its calls a second to the other's
}

// to compares two series: the median over the rounds of the ratio within each round. Percentiles far out need more
// calls than a round has, so they are those of all rounds.
func (s *series) to(other *series) comparison {
	return comparison{
		median: medianRatio(s.medians, other.medians),
		p99:    quantile(s.latencies, .99) / quantile(other.latencies, .99),
		rate:   medianRatio(s.rates, other.rates),
	}
}

// median and p99 are latencies of all rounds.
func (s *series) median() time.Duration { return time.Duration(quantile(s.latencies, .5)) }
func (s *series) p99() time.Duration    { return time.Duration(quantile(s.latencies, .99)) }

func medianRatio(a, b []float64) float64 {
	ratios := make([]float64, len(a))
	for i := range a {
		ratios[i] = a[i] / b[i]
	}
	return quantile(ratios, .5)
}

// quantile returns the smallest value that is not below the part q of all, with 0 < q ≤ 1; 0 of none.
func quantile[N time.Duration | float64](values []N, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	i := int(q*float64(len(sorted))+.999999) - 1
	return float64(sorted[min(max(i, 0), len(sorted)-1)])
}

func count(n int) string { return strconv.Itoa(n) }
