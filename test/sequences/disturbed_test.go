// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"fmt"
	"os"
	"sync"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// TestInterrupted repeats each driver's life with one of its steps failing, before it is made or after it took effect,
// or with the driver's process ending there, and the operation retried.
func TestInterrupted(t *testing.T) {
	const every = 301
	oneWay := testnode.Long() && os.Getenv("CSI_PROXY_LONG") != "all" // each step fails in one of the three ways
	for subject, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			want := s.undisturbed(t)
			eachStep(t, want.calls.taken, func(number int, step step, m moment) bool {
				// The steps that show what drivers leave behind are always tried, with -short those of a few drivers.
				isLeftover := s.disk == 2 && m == after && step.operation == nth("NodeUnstage", 1)
				if isLeftover && (subject%4 == 1 || !testing.Short()) {
					testnode.Tried(t, true, 1)
					return true
				}
				if oneWay && (number+int(m)+subject)%3 != 0 {
					testnode.Tried(t, false, 1)
					return false
				}
				return testnode.Sampled(t, 3*number+int(m), subject, every)
			}, func(t *testing.T, d disturbance) { s.live(t, d, want) })
		})
	}
}

// eachStep plays a life again for those of its steps that are to be tried, with that step interrupted.
func eachStep(t *testing.T, steps []step, try func(number int, s step, m moment) bool,
	play func(*testing.T, disturbance)) {
	t.Helper()
	for number, step := range steps {
		for _, m := range []moment{before, after, killed} {
			if !try(number, step, m) {
				continue
			}
			t.Run(fmt.Sprintf("%03d %s, %s", number, step, m), func(t *testing.T) {
				t.Parallel()
				play(t, disturbance{interruption: &interruption{step: number, moment: m}})
			})
		}
	}
}

// undisturbedLives are by their subjects' names.
var undisturbedLives sync.Map

type undisturbedLife struct {
	mu sync.Mutex
	l  *life
}

// undisturbed returns a life to compare others with. It is played once for all tests.
func (s subject) undisturbed(t *testing.T) *life {
	t.Helper()
	stored, _ := undisturbedLives.LoadOrStore(s.name, &undisturbedLife{})
	u := stored.(*undisturbedLife) //nolint:forcetypeassert // there is nothing else in it
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.l == nil && !t.Run("undisturbed", func(t *testing.T) { u.l = s.live(t, disturbance{}, nil) }) {
		u.l = nil
		t.FailNow()
	}
	return u.l
}
