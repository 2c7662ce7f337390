// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"slices"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// This shows what can be shown without stopping a service of the test's own machine: rights and refusals.
func TestServiceControlFailures(t *testing.T) {
	for name, want := range map[string]win32.Errno{"no-such-service": win32.ERROR_SERVICE_DOES_NOT_EXIST,
		"": win32.ERROR_INVALID_NAME, "a\x00b": win32.ERROR_INVALID_NAME} {
		check(t, Kernel{}.StartService(name), want)
		check(t, Kernel{}.StopService(name), want)
		_, err := Kernel{}.DependentServices(name)
		check(t, err, want)
	}
	check(t, Kernel{}.StartService("EventLog"), win32.ERROR_SERVICE_ALREADY_RUNNING)
}

func TestDependentServices(t *testing.T) {
	// Most services depend on the RPC service; the list is empty on a machine where no running service does.
	names, err := Kernel{}.DependentServices("RpcSs")
	must(t, err)
	t.Logf("%q", names)
	if slices.Contains(names, "") || slices.Contains(names, "RpcSs") {
		t.Errorf("got %q", names)
	}
	for _, name := range names {
		s, err := Kernel{}.QueryService(name)
		must(t, err)
		if s.State == win32.SERVICE_STOPPED {
			t.Errorf("%s is stopped", name)
		}
	}
}
