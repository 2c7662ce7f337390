// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/perf/benchmath"
)

const (
	// confidence is that of every interval. A page has some hundred intervals: at the customary 0.95 several would be
	// wrong.
	confidence = .99
	// leastRounds is how many values such an interval needs at least.
	leastRounds = 8
	// precision is how wide an interval may be, as a fraction of its median, for the median to be printed.
	precision = .1
)

// A figure is a quantity as measured in each round.
type figure []float64

// summary returns the median with its confidence interval, which assumes nothing about how the values are distributed.
func (f figure) summary() benchmath.Summary {
	return benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(f), &benchmath.DefaultThresholds), confidence)
}

// span returns the least and the greatest value, for quantities measured too rarely to have a confidence interval.
func (f figure) span() benchmath.Summary {
	return benchmath.AssumeExact.Summary(benchmath.NewSample(slices.Clone(f), &benchmath.DefaultThresholds), confidence)
}

// over divides each value by the other figure's value of the same round.
func (f figure) over(other figure) figure {
	return f.with(other, func(a, b float64) float64 { return a / b })
}

// minus subtracts from each value the other figure's value of the same round.
func (f figure) minus(other figure) figure {
	return f.with(other, func(a, b float64) float64 { return a - b })
}

// times multiplies each value.
func (f figure) times(n float64) (all figure) {
	for _, v := range f {
		all = append(all, n*v)
	}
	return all
}

func (f figure) with(other figure, do func(a, b float64) float64) (both figure) {
	for i := range f {
		both = append(both, do(f[i], other[i]))
	}
	return both
}

func narrow(s benchmath.Summary) bool { return s.Hi-s.Lo <= precision*math.Abs(s.Center) }

// text returns the median and its interval, or the interval alone where the median would be noise.
func (f figure) text(unit func(float64) string) string {
	if len(f) == 0 {
		return ""
	}
	s := f.summary()
	if !narrow(s) {
		return "noise: " + between(s, unit)
	}
	return fmt.Sprintf("%s (%s)", unit(s.Center), between(s, unit))
}

// between formats an interval, or its single value.
func between(s benchmath.Summary, unit func(float64) string) string {
	if s.Lo == s.Hi {
		return unit(s.Lo)
	}
	return unit(s.Lo) + " to " + unit(s.Hi)
}

// Units.
func times(v float64) string   { return fmt.Sprintf("%.2f", v) }
func mib(v float64) string     { return fmt.Sprintf("%.1f MiB", v) }
func seconds(v float64) string { return fmt.Sprintf("%.1f s", v) }
func millis(v float64) string {
	switch {
	case v < 1:
		return fmt.Sprintf("%.0f µs", v*1e3)
	case v < 100:
		return fmt.Sprintf("%.3g ms", v)
	default:
		return fmt.Sprintf("%.0f ms", v)
	}
}

// repeat goes on until every figure's interval is narrow. The rounds have a limit, as on a busy machine some never are.
// It does not look at goals: a measurement that may stop when it likes the result proves nothing.
func repeat(most int, round func(n int) error, figures func() []figure) error {
	for n := range max(most, leastRounds) {
		if err := round(n); err != nil {
			return err
		}
		if n+1 >= leastRounds && !slices.ContainsFunc(figures(), func(f figure) bool { return !narrow(f.summary()) }) {
			break
		}
	}
	return nil
}

// A goal is a limit that a page compares figures with. A figure meets or misses it only with its whole interval.
type goal struct {
	Text                   string
	Met, Undecided, Missed []string
}

func (g *goal) judge(name string, s benchmath.Summary, most float64, unit func(float64) string) {
	text := strings.TrimSpace(name + " " + between(s, unit))
	switch {
	case s.Hi <= most:
		g.Met = append(g.Met, text)
	case s.Lo > most:
		g.Missed = append(g.Missed, text)
	default:
		g.Undecided = append(g.Undecided, text)
	}
}

// A call is a call that is measured.
type call func(context.Context) error

// inTurns makes two calls in turns, each for a slice of time, and returns what they took, in milliseconds.
func inTurns(ctx context.Context, o options, callers int, calls [2]call) (took [2]figure, err error) {
	err = repeat(o.Rounds, func(round int) error {
		for i := range calls {
			i = (i + round) % 2 // not always in the same order
			t, err := turn(ctx, calls[i], callers, o.Slice)
			if err != nil {
				return err
			}
			took[i] = append(took[i], t)
		}
		return nil
	}, func() []figure { return []figure{took[0].over(took[1])} })
	return took, err
}

// turn has every caller make one call after the other, at least one, until the slice is over. For one caller it returns
// the median; for many callers, whose calls overlap, the whole time divided by the number of calls.
func turn(ctx context.Context, c call, callers int, slice time.Duration) (float64, error) {
	var (
		wait sync.WaitGroup
		each = make([][]float64, callers)
		errs = make([]error, callers)
	)
	begin := time.Now()
	for i := range callers {
		wait.Go(func() {
			for from := begin; errs[i] == nil && (len(each[i]) == 0 || from.Sub(begin) < slice); {
				errs[i] = c(ctx)
				each[i] = append(each[i], since(from))
				from = time.Now()
			}
		})
	}
	wait.Wait()
	whole, all := since(begin), slices.Concat(each...)
	if callers > 1 {
		return whole / float64(len(all)), errors.Join(errs...)
	}
	slices.Sort(all)
	return all[len(all)/2], errors.Join(errs...)
}

// since returns the time since begin in milliseconds.
func since(begin time.Time) float64 { return time.Since(begin).Seconds() * 1e3 }
