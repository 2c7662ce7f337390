// SPDX-License-Identifier: Apache-2.0

package running_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/running"
)

func values(s *running.Set[string]) (values []string) {
	s.Each(func(_ time.Time, value *string) { values = append(values, *value) })
	return values
}

// In whatever order entries are removed, the others stay in the order in which they were added.
func TestAnyOrder(t *testing.T) {
	names := []string{"a", "b", "c"}
	for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
		var s running.Set[string]
		entries := make([]*running.Entry[string], len(names))
		for i, name := range names {
			entries[i] = s.Add(name)
		}
		left := map[string]bool{"a": true, "b": true, "c": true}
		for _, i := range order {
			for range 2 { // a second removal changes nothing
				if got := entries[i].Remove(); got != names[i] {
					t.Errorf("removed %q, want %q", got, names[i])
				}
			}
			delete(left, names[i])
			var want []string
			for _, name := range names {
				if left[name] {
					want = append(want, name)
				}
			}
			if d := cmp.Diff(want, values(&s)); d != "" {
				t.Errorf("%v, after %d: %s", order, i, d)
			}
		}
	}
}

func TestAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s running.Set[string]
		first := s.Add("first")
		time.Sleep(time.Minute) // the bubble's clock
		second := s.Add("second")
		if got := second.Since.Sub(first.Since); got != time.Minute {
			t.Errorf("there are %v between them", got)
		}
		var all []time.Time
		s.Each(func(since time.Time, _ *string) { all = append(all, since) })
		if all[0] != first.Since || all[1] != second.Since {
			t.Errorf("the set has the times %v", all)
		}
	})
}

func TestUpdate(t *testing.T) {
	var s running.Set[string]
	e := s.Add("waits")
	e.Update(func(value *string) { *value += ", runs" })
	if values(&s)[0] != "waits, runs" || e.Remove() != "waits, runs" {
		t.Errorf("now %q", values(&s))
	}
}

func TestConcurrentUse(t *testing.T) {
	var s running.Set[int]
	var all sync.WaitGroup
	for i := range 50 {
		all.Go(func() {
			e := s.Add(i)
			e.Update(func(value *int) { *value++ })
			s.Each(func(time.Time, *int) {})
			if got := e.Remove(); got != i+1 {
				t.Errorf("removed %d, want %d", got, i+1)
			}
		})
	}
	all.Wait()
	s.Each(func(_ time.Time, value *int) { t.Errorf("%d is left", *value) })
}
