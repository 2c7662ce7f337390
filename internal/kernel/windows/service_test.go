// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"testing"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

func TestQueryService(t *testing.T) {
	// A service that every Windows has running from start-up.
	got, err := Kernel{}.QueryService("eventLOG")
	must(t, err)
	t.Logf("%+v", got)
	if got.StartType != windows.SERVICE_AUTO_START || got.State != windows.SERVICE_RUNNING ||
		got.ProcessID == 0 || got.DisplayName == "" {
		t.Errorf("got %+v, want an automatic service with a name, running in a process", got)
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
