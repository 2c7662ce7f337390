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
	"github.com/kubernetes-csi/csi-proxy/internal/operator/adminclient"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// TestService installs the agent as a service, has it serve, and removes it again.
func TestService(t *testing.T) {
	onThisMachine(t)
	const name = "csiproxy"
	binary := testnode.Command(t, "csi-proxy")
	q := &inquiry{TB: t, Subject: Subject{Kernel: kernel.New(), Timeout: time.Minute}}
	service := func(verb string) {
		t.Helper()
		out, err := exec.CommandContext(t.Context(), binary, "service", verb).CombinedOutput()
		if t.Logf("service %s: %s", verb, out); err != nil {
			t.Fatalf("service %s: %v", verb, err)
		}
	}
	if _, err := q.Kernel.QueryService(name); err == nil {
		t.Skip("require a machine without the service " + name)
	}
	atEnd(t, "removing the service", func(ctx context.Context) error {
		return withServices(func(m winservice.Manager) error {
			_, err := winservice.Uninstall(ctx, m, name)
			return err
		})
	})
	service("install")
	if s, err := q.Kernel.QueryService(name); err != nil || s.State == win32.SERVICE_STOPPED &&
		q.Kernel.StartService(name) != nil {
		t.Fatalf("the installed service is %+v, %v", s, err)
	}
	q.awaitService(name, win32.SERVICE_RUNNING)
	service("status")
	client, err := adminclient.Dial(t.Context(), "")
	q.check(err)
	served, err := client.ListAPIs(t.Context(), &admin.ListAPIsRequest{})
	_ = client.Close()
	if err != nil || len(served.GetApis()) != len(testnode.Released(t)) {
		t.Errorf("the service serves %v, %v", served, err)
	}
	q.check(q.Kernel.StopService(name))
	q.awaitService(name, win32.SERVICE_STOPPED)
	service("uninstall")
	if _, err := q.Kernel.QueryService(name); err == nil {
		t.Error("the service still exists after it was uninstalled")
	}
}
