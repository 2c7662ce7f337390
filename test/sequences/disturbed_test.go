// SPDX-License-Identifier: Apache-2.0

package sequences

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
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

// eachKernelCall plays a life again for a sample of its kernel calls, with that call failing once, before or after it
// took effect.
func eachKernelCall(t *testing.T, calls []kernel.Call, first, every int,
	play func(t *testing.T, number int, d disturbance)) {
	t.Helper()
	for number, call := range calls {
		for i, late := range []bool{false, true} {
			if !testnode.Sampled(t, 2*number+i, first, every) {
				continue
			}
			t.Run(fmt.Sprintf("%04d %s %#x, after=%t", number, call.Function, call.Code, late), func(t *testing.T) {
				t.Parallel()
				play(t, number, disturbance{fault: faultAt(calls, number, late)})
			})
		}
	}
}

// TestKernelFaults repeats each driver's life with one kernel call of the agent failing once, before or after it
// took effect, and the operation retried.
func TestKernelFaults(t *testing.T) {
	const every = 1199
	for subject, s := range subjects() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			want := s.undisturbed(t)
			eachKernelCall(t, want.kernel, 31*subject, every, func(t *testing.T, number int, d disturbance) {
				call, got := want.kernel[number], s.live(t, d, want).kernel[number]
				// Calls that are made side by side come in any order.
				if call.Part == 0 && (got.Function != call.Function || got.Code != call.Code) {
					t.Errorf("the fault met another call: %+v", got)
				}
			})
		})
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

// faultAt makes one call of a life fail once, before or after it took effect.
func faultAt(calls []kernel.Call, number int, late bool) *testnode.Fault {
	call := calls[number]
	fault := &testnode.Fault{Function: call.Function, Code: call.Code, Times: 1, Error: transientError(call, number),
		After: late}
	for _, c := range calls[:number] { // those to which the fault would apply, too
		if c.Function == call.Function && (call.Code == 0 || c.Code == call.Code) {
			fault.Skip++
		}
	}
	return fault
}

// transientError returns a failure that Windows gives for a while: files are open elsewhere, devices are not ready.
func transientError(call kernel.Call, number int) win32.Errno {
	switch {
	case call.Function == "OpenFile", call.Function == "FinalPath", strings.HasSuffix(call.Function, "Information") &&
		call.Function != "VolumeInformation",
		call.Code == win32.FSCTL_GET_REPARSE_POINT, call.Code == win32.FSCTL_SET_REPARSE_POINT,
		call.Code == win32.FSCTL_DELETE_REPARSE_POINT:
		return win32.ERROR_SHARING_VIOLATION
	case number%2 == 0:
		return win32.ERROR_NOT_READY
	default:
		return win32.ERROR_IO_DEVICE
	}
}
