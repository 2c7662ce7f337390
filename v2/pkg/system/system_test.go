// SPDX-License-Identifier: Apache-2.0

package system_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
	hostapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/system/hostapi"
)

// fake is a driver's own machine for its tests.
type fake struct {
	calls []string
	err   error
}

func (f *fake) called(args ...any) error {
	f.calls = append(f.calls, fmt.Sprintf("%v", args))
	return f.err
}

func (f *fake) GetBIOSSerialNumber() (string, error) { return "serial", f.called("serial") }

func (f *fake) GetService(name string) (*hostapi.ServiceInfo, error) {
	if err := f.called("get", name); err != nil {
		return nil, err
	}
	return &hostapi.ServiceInfo{DisplayName: "The spooler", StartType: "Manual", Status: "Running"}, nil
}

func (f *fake) StartService(name string) error            { return f.called("start", name) }
func (f *fake) StopService(name string, force bool) error { return f.called("stop", name, force) }

// TestFakeIsCalled: the driver's HostAPI receives the driver's calls, and its answers arrive.
func TestFakeIsCalled(t *testing.T) {
	broken := errors.New("broken")
	for _, f := range []*fake{{}, {err: broken}} {
		s, err := system.New(f)
		if err != nil {
			t.Fatal(err)
		}
		ctx := t.Context()
		serial, err := s.GetBIOSSerialNumber(ctx, &system.GetBIOSSerialNumberRequest{})
		errs := []error{err}
		info, err := s.GetService(ctx, &system.GetServiceRequest{Name: "Spooler"})
		errs = append(errs, err)
		_, err = s.StartService(ctx, &system.StartServiceRequest{Name: "Spooler"})
		errs = append(errs, err)
		_, err = s.StopService(ctx, &system.StopServiceRequest{Name: "Spooler", Force: true})
		for _, err := range append(errs, err) {
			if !errors.Is(err, f.err) {
				t.Errorf("got the error %v, want %v", err, f.err)
			}
		}
		if diff := cmp.Diff(f.calls, []string{"[serial]", "[get Spooler]", "[start Spooler]",
			"[stop Spooler true]"}); diff != "" {
			t.Errorf("calls (-got +want):\n%s", diff)
		}
		if f.err != nil {
			continue
		}
		if diff := cmp.Diff(serial, &system.GetBIOSSerialNumberResponse{SerialNumber: "serial"}); diff != "" {
			t.Errorf("serial number (-got +want):\n%s", diff)
		}
		if diff := cmp.Diff(info, &system.GetServiceResponse{
			DisplayName: "The spooler", StartType: system.START_TYPE_MANUAL, Status: system.SERVICE_STATUS_RUNNING,
		}); diff != "" {
			t.Errorf("service (-got +want):\n%s", diff)
		}
	}
}

func TestNewNeedsAHostAPI(t *testing.T) {
	if _, err := system.New(nil); err == nil {
		t.Error("system.New(nil) succeeds")
	}
}
