// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"context"
	"os/exec"
	"testing"
	"time"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	kernel "github.com/kubernetes-csi/csi-proxy/internal/agent/kernel/windows"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winservice"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// TestService installs the agent as a service, has it serve, and removes it again.
func TestService(t *testing.T) {
	onThisMachine(t)
	const name = "csiproxy"
	binary, subject := testnode.Command(t, "csi-proxy"), Subject{Kernel: kernel.New(), Timeout: time.Minute}
	service := func(verb string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), binary, "service", verb).CombinedOutput()
		if t.Logf("service %s: %s", verb, out); err != nil {
			t.Fatalf("service %s: %v", verb, err)
		}
	}
	is := func(state uint32) {
		t.Helper()
		reached, err := subject.pollUntil(func() (bool, error) {
			s, err := subject.Kernel.QueryService(name)
			return s.State == state, err
		})
		if err != nil || !reached {
			t.Fatalf("the service does not get to state %d: %v", state, err)
		}
	}
	if _, err := subject.Kernel.QueryService(name); err == nil {
		t.Skip("require a machine without the service " + name)
	}
	atEnd(t, "removing the service", func(ctx context.Context) error {
		return withServices(func(m winservice.Manager) error {
			_, err := winservice.Uninstall(ctx, m, name)
			return err
		})
	})
	service("install")
	if s, err := subject.Kernel.QueryService(name); err != nil || s.State == win32.SERVICE_STOPPED &&
		subject.Kernel.StartService(name) != nil {
		t.Fatalf("the installed service is %+v, %v", s, err)
	}
	is(win32.SERVICE_RUNNING)
	service("status")
	client, err := adminclient.Dial(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	served, err := client.ListAPIs(t.Context(), &admin.ListAPIsRequest{})
	_ = client.Close()
	if err != nil || len(served.GetApis()) != len(testnode.Released(t)) {
		t.Errorf("the service serves %v, %v", served, err)
	}
	if err := subject.Kernel.StopService(name); err != nil {
		t.Fatal(err)
	}
	is(win32.SERVICE_STOPPED)
	service("uninstall")
	if _, err := subject.Kernel.QueryService(name); err == nil {
		t.Error("the service still exists after it was uninstalled")
	}
}
