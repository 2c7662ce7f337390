// SPDX-License-Identifier: Apache-2.0

package faults_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/faults"
)

const (
	rescan = "/v1.Disk/Rescan"
	mount  = "/v1.Volume/MountVolume"
)

func apiSet(crash func()) *faults.Set {
	s := faults.New(crash)
	s.Serve([]string{rescan, "/v1beta3.Disk/Rescan", mount})
	return s
}

// outcome is what became of an API call.
type outcome struct {
	Effect, Cut bool
	Code        codes.Code
	Message     string
}

func around(ctx context.Context, s *faults.Set, path string, own error) (o outcome) {
	cut, err := s.Around(ctx, path, func() error { o.Effect = true; return own })
	o.Cut, o.Code, o.Message = cut, status.Code(err), status.Convert(err).Message()
	return o
}

func TestAPIFaults(t *testing.T) {
	busy := faults.APIError{Code: codes.ResourceExhausted, Message: "busy"}
	own := status.Error(codes.NotFound, "own")
	served := outcome{Effect: true}
	for name, test := range map[string]struct {
		fault faults.Fault
		path  string
		own   error
		want  []outcome // of three calls
	}{
		"other method": {faults.Fault{Method: "disk", Status: busy}, mount, nil, []outcome{served, served, served}},
		"error": {faults.Fault{Method: "disk", Status: busy, Skip: 1, Times: 1}, rescan, nil,
			[]outcome{served, {Code: codes.ResourceExhausted, Message: "busy"}, served}},
		"error after": {
			faults.Fault{Method: "disk", Status: busy, After: true, Times: 2}, rescan, nil,
			[]outcome{{Effect: true, Code: codes.ResourceExhausted, Message: "busy"},
				{Effect: true, Code: codes.ResourceExhausted, Message: "busy"}, served},
		},
		"own error first": {
			faults.Fault{Method: "disk", Status: busy, After: true, Times: 1}, rescan, own,
			[]outcome{{Effect: true, Code: codes.NotFound, Message: "own"}, {Effect: true, Code: codes.NotFound, Message: "own"},
				{Effect: true, Code: codes.NotFound, Message: "own"}},
		},
		"cut": {faults.Fault{Method: "*/MountVolume", Cut: true, Times: 1}, mount, nil,
			[]outcome{{Cut: true, Code: codes.Unavailable, Message: "the connection was cut"}, served, served}},
		"cut after": {faults.Fault{Method: "*", Cut: true, After: true, Times: 1}, mount, own,
			[]outcome{{Effect: true, Cut: true, Code: codes.Unavailable, Message: "the connection was cut"},
				{true, false, codes.NotFound, "own"}, {true, false, codes.NotFound, "own"}}},
	} {
		t.Run(name, func(t *testing.T) {
			s := apiSet(nil)
			add(t, s, test.fault)
			var got []outcome
			for range 3 {
				got = append(got, around(t.Context(), s, test.path, test.own))
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestAPIErrorHasAReason(t *testing.T) {
	s := apiSet(nil)
	add(t, s, faults.Fault{Method: "disk", Status: faults.APIError{Code: codes.Aborted, Message: "m", Reason: "BUSY"}})
	_, err := s.Around(t.Context(), rescan, nil)
	details := status.Convert(err).Details()
	if info, ok := details[0].(*errdetails.ErrorInfo); len(details) != 1 || !ok || info.GetReason() != "BUSY" ||
		info.GetDomain() != "csi-proxy" {
		t.Errorf("got %v", details)
	}
}

func TestAPICrash(t *testing.T) {
	for _, after := range []bool{false, true} {
		crashed := 0
		s := apiSet(func() { crashed++ })
		add(t, s, faults.Fault{Method: rescan, Crash: true, After: after})
		if got := around(t.Context(), s, rescan, nil); got.Effect != after || crashed != 1 {
			t.Errorf("after %v: got %+v, %d crashes", after, got, crashed)
		}
	}
}

func TestAPIHang(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(s *faults.Set, id uint64, giveUp func())
		want outcome
	}{
		"remove": {func(s *faults.Set, id uint64, _ func()) { s.Remove(id) }, outcome{Effect: true}},
		"abort": {func(s *faults.Set, _ uint64, _ func()) { s.Abort() },
			outcome{Code: codes.Unavailable, Message: "the call hung until the agent or its node stopped"}},
		"give up": {func(_ *faults.Set, _ uint64, giveUp func()) { giveUp() },
			outcome{Code: codes.Canceled, Message: "context canceled"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := apiSet(nil)
				id, reached := add(t, s, faults.Fault{Method: rescan, Hang: true, Times: 1})
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				got := make(chan outcome, 1)
				go func() { got <- around(ctx, s, rescan, nil) }()
				<-reached
				synctest.Wait()
				if list := s.List(); len(list) != 1 || list[0].GetHolding() != 1 {
					t.Errorf("got %v", list)
				}
				test.end(s, id, cancel)
				if d := cmp.Diff(test.want, <-got); d != "" {
					t.Error(d)
				}
				synctest.Wait()
				if list := s.List(); len(list) != 0 {
					t.Errorf("left: %v", list)
				}
			})
		})
	}
}

func TestKernelFaultOnAnObject(t *testing.T) {
	s := faults.New(nil)
	add(t, s, faults.Fault{Function: "Flush", Object: "DRIVE2", Error: win32.ERROR_IO_DEVICE})
	for object, want := range map[string]error{`\\.\PhysicalDrive2`: win32.ERROR_IO_DEVICE,
		`\\.\PhysicalDrive1`: nil, "": nil} {
		err := s.Intercept(t.Context(), kernel.Call{Function: "Flush", Object: object}, func() error { return nil })
		if !errors.Is(err, want) {
			t.Errorf("%q: got %v", object, err)
		}
	}
}

func TestDelayText(t *testing.T) {
	for _, text := range []string{"20ms", "10ms-2s"} {
		d, err := faults.ParseDelay(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
		}
		again, err := faults.ParseDelay(d.String())
		if diff := cmp.Diff(d, again); diff != "" || err != nil {
			t.Errorf("%s is written %s: %v %s", text, d, err, diff)
		}
	}
	for _, text := range []string{"", "-", "fast", "2s-1s", "-1s", "0s", "2h", "1ms-", "1ms-2ms-3ms"} {
		if d, err := faults.ParseDelay(text); err == nil {
			t.Errorf("%q: got %+v", text, d)
		}
	}
}

func FuzzParseDelay(f *testing.F) {
	for _, seed := range []string{"20ms", "10ms-2s", "2s-10ms"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := faults.ParseDelay(text)
		if err != nil {
			return
		}
		s := apiSet(nil)
		if _, _, err := s.Add(faults.Fault{Method: "*", Delay: d}); err != nil {
			t.Errorf("%q is read as an impossible delay: %v", text, err)
		}
	})
}
