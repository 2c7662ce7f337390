// SPDX-License-Identifier: Apache-2.0

package contract

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	system "github.com/kubernetes-csi/csi-proxy/client/api/system/v1alpha1"
	agentservices "github.com/kubernetes-csi/csi-proxy/internal/agent/services"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/services"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// running returns a service that runs and depends on others.
func running(name string, on ...string) services.Spec {
	return services.Spec{Name: name, StartType: services.Automatic, Running: true, Dependencies: on}
}

// No caller may stop what the node needs: under no spelling of its name, and not as a dependent of another service.
func TestProtectedServices(t *testing.T) {
	n := startWith(t, running("kubelet", "containerd"), running("containerd", "W32Time"), running("WinDefend"))
	for _, name := range []string{"kubelet", "KUBELET", "\u212aubelet", " kubelet ", "containerd", "windefend",
		"LanmanWorkstation", "lanmanworkſtation", "W32Time"} {
		for _, force := range []bool{false, true} {
			n.Refused(n.StopService(name, force), codes.FailedPrecondition, "PROTECTED_SERVICE", "no caller may stop",
				"-protected-services=*,-")
		}
	}
	for _, name := range agentservices.DefaultProtected() { // whether or not the node has it
		n.Refused(n.StopService(strings.ToUpper(name), true), codes.FailedPrecondition, "PROTECTED_SERVICE", name)
	}
	if got := n.Called("StopService"); len(got) != 0 {
		t.Errorf("calls %q, want none", got)
	}
	wantStatus(t, n, system.ServiceStatus_RUNNING, "kubelet", "containerd", "WinDefend", "LanmanWorkstation", "W32Time")
	n.OK(n.StartService("kubelet"))
	n.OK(n.StopService("MSiSCSI", true)) // which drivers for iSCSI may restart
}

// The operator adds services to the list and takes others away.
func TestProtectedServicesOfTheOperator(t *testing.T) {
	start := func(items ...string) *caller.Node {
		s := scenario.Default()
		s.Services = append(s.Services, running("kubelet"))
		return caller.Start(t, testnode.Options{Emulated: emulated.Options{Scenario: &s}, ProtectedServices: items})
	}
	for name, c := range map[string]struct {
		items       []string
		kept, stops []string
	}{
		"one more":     {[]string{"*", "w32TIME"}, []string{"W32Time", "kubelet"}, []string{"MSiSCSI"}},
		"one less":     {[]string{"*", "-LANMANworkstation"}, []string{"kubelet"}, []string{"LanmanWorkstation", "W32Time"}},
		"less at once": {[]string{"-kubelet", "*"}, []string{"LanmanWorkstation"}, []string{"kubelet"}},
		"own list":     {[]string{"MSiSCSI"}, []string{"MSiSCSI"}, []string{"kubelet", "LanmanWorkstation"}},
		"none":         {[]string{"none"}, nil, []string{"kubelet", "LanmanWorkstation", "W32Time"}},
	} {
		t.Run(name, func(*testing.T) {
			n := start(c.items...)
			for _, name := range c.kept {
				n.Refused(n.StopService(name, true), codes.FailedPrecondition, "PROTECTED_SERVICE")
			}
			for _, name := range c.stops {
				n.OK(n.StopService(name, true))
			}
			n.Refused(n.StopService("csiproxy", true), codes.FailedPrecondition, "OWN_SERVICE")
		})
	}
}
