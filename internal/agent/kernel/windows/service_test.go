// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

func TestQueryService(t *testing.T) {
	// A service that runs on every Windows from start-up on.
	got, err := Kernel{}.QueryService("eventLOG")
	must(t, err)
	t.Logf("%+v", got)
	if got.StartType != windows.SERVICE_AUTO_START || got.State != windows.SERVICE_RUNNING ||
		got.DisplayName == "" {
		t.Errorf("got %+v, want an automatic service with a name, running", got)
	}
}

func TestQueryServiceFailures(t *testing.T) {
	for name, want := range map[string]win32.Errno{
		"no-such-service":   win32.ERROR_SERVICE_DOES_NOT_EXIST,
		"Windows Event Log": win32.ERROR_SERVICE_DOES_NOT_EXIST, // a display name
		"":                  win32.ERROR_INVALID_NAME,
		`a\b`:               win32.ERROR_INVALID_NAME,
		"a\x00b":            win32.ERROR_INVALID_NAME,
	} {
		_, err := Kernel{}.QueryService(name)
		check(t, err, want)
	}
}

// TestQueryServiceWithMuchConfiguration queries a service whose configuration does not fit in the usual buffer.
func TestQueryServiceWithMuchConfiguration(t *testing.T) {
	scm, err := windows.OpenSCManager(nil, nil, windows.SC_MANAGER_CONNECT|windows.SC_MANAGER_CREATE_SERVICE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = windows.CloseServiceHandle(scm) }()
	name := fmt.Sprintf("csi-proxy-test-%d", os.Getpid())
	program := `C:\` + strings.Repeat("long-", 200) + "program.exe"
	service, err := windows.CreateService(scm, wideText(t, name), wideText(t, "Much of it"), windows.DELETE,
		windows.SERVICE_WIN32_OWN_PROCESS,
		windows.SERVICE_DEMAND_START, windows.SERVICE_ERROR_NORMAL, wideText(t, program), nil, nil, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := windows.DeleteService(service); err != nil {
			t.Error(err)
		}
		_ = windows.CloseServiceHandle(service)
	}()
	got, err := Kernel{}.QueryService(name)
	if err != nil || got.DisplayName != "Much of it" || got.StartType != windows.SERVICE_DEMAND_START {
		t.Errorf("got %+v, %v", got, err)
	}
}

func wideText(t *testing.T, text string) *uint16 {
	t.Helper()
	p, err := windows.UTF16PtrFromString(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}
