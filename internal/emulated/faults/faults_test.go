// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	api "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/faults"
)

// calls makes n flushes and returns, for each, whether it took effect and its error code.
func calls(t *testing.T, s *faults.Set, n int) (done []bool, codes []win32.Errno) {
	t.Helper()
	for range n {
		effect := false
		err := s.Intercept(t.Context(), kernel.Call{Function: "Flush", Object: "x"},
			func() error { effect = true; return nil })
		code := win32.Errno(0)
		errors.As(err, &code)
		done, codes = append(done, effect), append(codes, code)
	}
	return done, codes
}

func add(t *testing.T, s *faults.Set, f *api.Fault) (uint64, <-chan struct{}) {
	t.Helper()
	id, reached, err := s.Add(f)
	if err != nil {
		t.Fatal(err)
	}
	return id, reached
}

func TestFailures(t *testing.T) {
	const e = win32.ERROR_NOT_READY
	for name, test := range map[string]struct {
		faults []*api.Fault
		done   []bool
		codes  []win32.Errno
	}{
		"none": {nil, []bool{true, true, true, true}, []win32.Errno{0, 0, 0, 0}},
		"all": {[]*api.Fault{{Function: "Flush", Fail: "ERROR_NOT_READY"}}, []bool{false, false, false, false},
			[]win32.Errno{e, e, e, e}},
		"some": {[]*api.Fault{{Function: "Flush", Fail: "ERROR_NOT_READY", Skip: 1, Times: 2}}, []bool{true, false, false, true},
			[]win32.Errno{0, e, e, 0}},
		"after": {[]*api.Fault{{Function: "Flush", Fail: "ERROR_NOT_READY", Times: 1, AfterEffect: true}},
			[]bool{true, true, true, true}, []win32.Errno{e, 0, 0, 0}},
		"other function": {[]*api.Fault{{Function: "ReadAt", Fail: "ERROR_NOT_READY"}}, []bool{true, true, true, true},
			[]win32.Errno{0, 0, 0, 0}},
		"other code": {[]*api.Fault{{Function: "Flush", ControlCode: "1", Fail: "ERROR_NOT_READY"}}, []bool{true, true, true, true},
			[]win32.Errno{0, 0, 0, 0}},
		"one after another": {
			[]*api.Fault{{Function: "Flush", Fail: "ERROR_NOT_READY", Times: 1}, {Function: "Flush", Fail: "ERROR_IO_DEVICE", Times: 1}},
			[]bool{false, false, true, true},
			[]win32.Errno{e, win32.ERROR_IO_DEVICE, 0, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := faults.New(nil)
			for _, f := range test.faults {
				add(t, s, f)
			}
			done, codes := calls(t, s, 4)
			if d := cmp.Diff(test.done, done); d != "" {
				t.Errorf("took effect: %s", d)
			}
			if d := cmp.Diff(test.codes, codes); d != "" {
				t.Errorf("codes: %s", d)
			}
		})
	}
}

func TestRealErrorPrecedesLaterFault(t *testing.T) {
	s := faults.New(nil)
	add(t, s, &api.Fault{Function: "Flush", Fail: "ERROR_NOT_READY", AfterEffect: true})
	err := s.Intercept(t.Context(), kernel.Call{Function: "Flush"}, func() error { return win32.ERROR_WRITE_PROTECT })
	if !errors.Is(err, win32.ERROR_WRITE_PROTECT) {
		t.Errorf("got %v", err)
	}
}

func TestImpossibleFaults(t *testing.T) {
	s := apiSet(func() {})
	for name, f := range map[string]*api.Fault{
		"none":               nil,
		"no function":        {Fail: "1"},
		"unknown function":   {Function: "SetVolumeMountPointX", Fail: "1"},
		"close":              {Function: "Close", Fail: "1"},
		"no effect":          {Function: "Flush"},
		"two effects":        {Function: "Flush", Fail: "1", Hang: true},
		"delay after":        {Function: "Flush", Delay: "1s-2s", AfterEffect: true},
		"not served":         {Method: "disk/ListDiskIDs", Cut: true},
		"no mask":            {Method: "a/b/c/d", Cut: true},
		"both":               {Method: "disk", Function: "Flush", Hang: true},
		"win32 code":         {Method: "disk", Fail: "5"},
		"control code":       {Method: "disk", Hang: true, ControlCode: "1"},
		"object":             {Method: "disk", Hang: true, Object: "x"},
		"no error":           {Method: "disk", Message: "m"},
		"no code":            {Method: "disk", Status: "17"},
		"status of a kernel": {Function: "Flush", Status: "5"},
		"cut of a kernel":    {Function: "Flush", Cut: true},
		"API delay after":    {Method: "disk", Delay: "0s-1s", AfterEffect: true},
	} {
		if _, _, err := s.Add(f); !errors.Is(err, faults.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	for _, delay := range []string{"-", "fast", "2s-1s", "-1s", "0s", "2h", "0s-2h", "1ms-", "1ms-2ms-3ms"} {
		if _, _, err := s.Add(&api.Fault{Function: "Flush", Delay: delay}); !errors.Is(err, faults.ErrInvalid) {
			t.Errorf("the delay %q: got %v", delay, err)
		}
	}
	if _, _, err := faults.New(nil).Add(&api.Fault{Function: "Flush", Crash: true}); !errors.Is(err, faults.ErrNoCrash) {
		t.Errorf("a crash of a process that must not: got %v", err)
	}
	if list := s.List(); len(list) != 0 {
		t.Errorf("got the faults %v", list)
	}
}

func TestCrash(t *testing.T) {
	for _, after := range []bool{false, true} {
		var events []string
		s := faults.New(func() { events = append(events, "crash") })
		add(t, s, &api.Fault{Function: "Flush", Skip: 1, Crash: true, AfterEffect: after})
		for range 2 {
			_ = s.Intercept(t.Context(), kernel.Call{Function: "Flush"}, func() error {
				events = append(events, "effect")
				return win32.ERROR_NOT_READY
			})
		}
		want := []string{"effect", "crash"}
		if after {
			want = []string{"effect", "effect", "crash"}
		}
		if d := cmp.Diff(want, events); d != "" {
			t.Errorf("after %v: %s", after, d)
		}
	}
}

func TestDelay(t *testing.T) {
	for delay, want := range map[string]struct{ least, most time.Duration }{
		"1s": {time.Second, time.Second}, "1s-1m": {time.Second, time.Minute}, "0s-1m": {0, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := faults.New(nil)
			add(t, s, &api.Fault{Function: "Flush", Delay: delay, Times: 20})
			var took []time.Duration
			for range 20 {
				begin := time.Now()
				calls(t, s, 1)
				took = append(took, time.Since(begin))
			}
			least, most := slices.Min(took), slices.Max(took)
			if least < want.least || most > want.most || (want.least != want.most) == (least == most) {
				t.Errorf("%v: got %v", delay, took)
			}
			if left := s.List(); len(left) != 0 {
				t.Errorf("%v: left %v", delay, left)
			}
		})
	}
}

func TestHang(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(s *faults.Set, id uint64)
		done []bool
		code []win32.Errno
	}{
		"remove":  {func(s *faults.Set, id uint64) { s.Remove(id) }, []bool{true}, []win32.Errno{0}},
		"release": {func(s *faults.Set, _ uint64) { s.Release() }, []bool{true}, []win32.Errno{0}},
		"abort": {func(s *faults.Set, _ uint64) { s.Abort() }, []bool{false},
			[]win32.Errno{win32.ERROR_OPERATION_ABORTED}},
		"abort after": {func(s *faults.Set, _ uint64) { s.Abort() }, []bool{true},
			[]win32.Errno{win32.ERROR_OPERATION_ABORTED}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := faults.New(nil)
				fault := &api.Fault{Function: "Flush", Times: 2, Hang: true, AfterEffect: strings.HasSuffix(name, "after")}
				id, reached := add(t, s, fault)
				other, _ := add(t, s, &api.Fault{Function: "ReadAt", Fail: "1"})
				for range 2 {
					go func() {
						done, codes := calls(t, s, 1)
						if d := cmp.Diff(test.done, done) + cmp.Diff(test.code, codes); d != "" {
							t.Error(d)
						}
					}()
				}
				<-reached
				synctest.Wait()
				want := []*api.FaultStatus{
					{Id: id, Fault: &api.Fault{Function: "Flush", Times: 2, Hang: true, AfterEffect: fault.AfterEffect}, Disturbed: 2,
						Holding: 2},
					{Id: other, Fault: &api.Fault{Function: "ReadAt", Fail: "ERROR_INVALID_FUNCTION"}},
				}
				if d := cmp.Diff(want, s.List(), protocmp.Transform()); d != "" {
					t.Error(d)
				}
				if done, _ := calls(t, s, 1); !done[0] {
					t.Error("a third call was disturbed")
				}
				test.end(s, id)
				synctest.Wait()
				if left := len(s.List()); (name == "release") != (left == 0) || left > 1 {
					t.Errorf("%d faults are left", left)
				}
				if s.Remove(id) {
					t.Error("the fault was removed twice")
				}
			})
		})
	}
}
