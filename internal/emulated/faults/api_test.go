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

	api "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
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
	const busy = "RESOURCE_EXHAUSTED"
	own := status.Error(codes.NotFound, "own")
	served := outcome{Effect: true}
	for name, test := range map[string]struct {
		fault *api.Fault
		path  string
		own   error
		want  []outcome // of three calls
	}{
		"other method": {&api.Fault{Method: "disk", Status: busy, Message: "busy"}, mount, nil, []outcome{served, served, served}},
		"error": {&api.Fault{Method: "disk", Status: busy, Message: "busy", Skip: 1, Times: 1}, rescan, nil,
			[]outcome{served, {Code: codes.ResourceExhausted, Message: "busy"}, served}},
		"error after": {
			&api.Fault{Method: "disk", Status: busy, Message: "busy", AfterEffect: true, Times: 2}, rescan, nil,
			[]outcome{{Effect: true, Code: codes.ResourceExhausted, Message: "busy"},
				{Effect: true, Code: codes.ResourceExhausted, Message: "busy"}, served},
		},
		"own error first": {
			&api.Fault{Method: "disk", Status: busy, Message: "busy", AfterEffect: true, Times: 1}, rescan, own,
			[]outcome{{Effect: true, Code: codes.NotFound, Message: "own"}, {Effect: true, Code: codes.NotFound, Message: "own"},
				{Effect: true, Code: codes.NotFound, Message: "own"}},
		},
		"cut": {&api.Fault{Method: "*/MountVolume", Cut: true, Times: 1}, mount, nil,
			[]outcome{{Cut: true, Code: codes.Unavailable, Message: "the connection was cut"}, served, served}},
		"cut after": {&api.Fault{Method: "*", Cut: true, AfterEffect: true, Times: 1}, mount, own,
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
	add(t, s, &api.Fault{Method: "disk", Status: "ABORTED", Message: "m", Reason: "BUSY"})
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
		add(t, s, &api.Fault{Method: rescan, Crash: true, AfterEffect: after})
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
				id, reached := add(t, s, &api.Fault{Method: rescan, Hang: true, Times: 1})
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
	add(t, s, &api.Fault{Function: "Flush", Object: "DRIVE2", Fail: "ERROR_IO_DEVICE"})
	for object, want := range map[string]error{`\\.\PhysicalDrive2`: win32.ERROR_IO_DEVICE,
		`\\.\PhysicalDrive1`: nil, "": nil} {
		err := s.Intercept(t.Context(), kernel.Call{Function: "Flush", Object: object}, func() error { return nil })
		if !errors.Is(err, want) {
			t.Errorf("%q: got %v", object, err)
		}
	}
}

func FuzzDelay(f *testing.F) {
	for _, seed := range []string{"20ms", "10ms-2s", "2s-10ms"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s := apiSet(nil)
		if _, _, err := s.Add(&api.Fault{Method: "*", Delay: text}); err != nil {
			return
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		around(gone, s, rescan, nil) // begins to wait
	})
}
