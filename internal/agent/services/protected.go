// SPDX-License-Identifier: Apache-2.0

package services

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
)

// DefaultProtected returns the services that StopService does not stop unless the operator says otherwise.
// Without them, a Kubernetes node loses its pods, network, shares, protection or logs. A driver has no reason to stop
// any of them. MSiSCSI is not among them, because drivers for iSCSI start it and may restart it.
func DefaultProtected() []string {
	return slices.Concat(
		// Kubernetes and containers. AKS calls kube-proxy kubeproxy; AKS and OpenShift call the agent csi-proxy.
		[]string{"kubelet", "kube-proxy", "kubeproxy", "containerd", "docker", "csi-proxy", "rke2", "rancher-wins",
			"vmcompute", "hns", "bindflt", "wcifs", "cimfs"},
		// Pod networks: Calico, Flannel, Antrea, OVN.
		[]string{"CalicoNode", "CalicoFelix", "CalicoConfd", "flanneld", "antrea-agent", "ovs-vswitchd", "ovsdb-server",
			"hybrid-overlay-node", "windows-instance-config-daemon", "vfpext", "WinNat"},
		// The SMB client and its drivers, WMI, snapshots.
		[]string{"LanmanWorkstation", "mrxsmb", "mrxsmb20", "rdbss", "mup", "Winmgmt", "smphost", "VSS", "swprv", "vds"},
		// The network.
		[]string{"BFE", "mpssvc", "mpsdrv", "Dnscache", "Dhcp", "nsi", "NlaSvc", "netprofm", "iphlpsvc", "PolicyAgent",
			"Tcpip", "AFD", "HTTP"},
		// Dependencies of the others.
		[]string{"RpcSs", "RpcEptMapper", "DcomLaunch", "LSM", "SamSs", "PlugPlay", "Power", "BrokerInfrastructure",
			"SystemEventsBroker", "EventSystem", "ProfSvc", "UserManager", "gpsvc", "Schedule", "KeyIso",
			"CryptSvc", "Netlogon"},
		// Protection and logs: Defender, Defender for Endpoint, the event log.
		[]string{"WinDefend", "WdNisSvc", "WdNisDrv", "WdFilter", "WdBoot", "MDCoreSvc", "Sense", "SecurityHealthService",
			"wscsvc", "AppIDSvc", "EventLog"},
	)
}

// noProtectedServices is the item that stands alone for an empty list.
const noProtectedServices = "none"

// Protected returns the services that a list of items names: NAME adds one, * the default ones, and -NAME takes
// one away again. None, alone, protects none. No items mean the default.
func Protected(items []string) (names []string, err error) {
	switch {
	case len(items) == 0:
		return DefaultProtected(), nil
	case len(items) == 1 && items[0] == noProtectedServices:
		return nil, nil
	}
	var excluded []string
	for _, item := range items {
		name, minus := strings.CutPrefix(item, "-")
		switch {
		case item == "*":
			names = append(names, DefaultProtected()...)
			continue
		case item == noProtectedServices:
			return nil, fmt.Errorf("%q stands alone or not at all", item)
		case minus:
			excluded = append(excluded, name)
		default:
			names = append(names, name)
		}
		if err := CheckName(name); err != nil {
			return nil, err
		}
	}
	for _, name := range excluded {
		kept := slices.DeleteFunc(names, func(one string) bool { return sameService(one, name) })
		if len(kept) == len(names) {
			return nil, fmt.Errorf("%q takes away a service that is not in the list; * stands for the default ones", "-"+name)
		}
		names = kept
	}
	return names, nil
}

// sameService reports whether two names are of one service. It folds more letters than Windows does, to be safe.
func sameService(a, b string) bool {
	return strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b))
}

// protected returns a service's name in the list of those that no caller may stop, and whether it is there.
func (m Manager) protected(service string) (name string, yes bool) {
	i := slices.IndexFunc(m.Protected, func(one string) bool { return sameService(one, service) })
	if i < 0 {
		return "", false
	}
	return m.Protected[i], true
}

// mayStop refuses the agent's own service and the protected ones. Windows opens a service by this one name only.
func (m Manager) mayStop(service string) error {
	if sameService(service, m.own()) {
		return errdefs.FailedPrecondition.Errorf(reason.OwnService,
			"service %s is this agent, which does not stop itself", service)
	}
	if name, protected := m.protected(service); protected {
		return errdefs.FailedPrecondition.Errorf(reason.ProtectedService,
			"the node needs service %s, which no caller may stop; %s", name, whoMayAllow(name))
	}
	return nil
}

// mayStopDependents refuses to stop a service on which the agent or a protected service depends.
func (m Manager) mayStopDependents(service string, dependents []string) error {
	own := m.own()
	if slices.ContainsFunc(dependents, func(one string) bool { return sameService(one, own) }) {
		return errdefs.FailedPrecondition.Errorf(reason.OwnService,
			"this agent's own service, %s, depends on service %s; the agent does not stop itself", own, service)
	}
	for _, dependent := range dependents {
		if name, protected := m.protected(dependent); protected {
			return errdefs.FailedPrecondition.Errorf(reason.ProtectedService,
				"service %s, which the node needs and no caller may stop, depends on service %s; %s", name,
				service, whoMayAllow(name))
		}
	}
	return nil
}

func whoMayAllow(name string) string {
	return fmt.Sprintf("the node's operator stops it with sc.exe, or allows it with the agent's flag "+
		"-protected-services=*,-%s", name)
}

// own returns the service that the agent works for.
func (m Manager) own() (name string) {
	if m.Own != nil {
		name = m.Own()
	}
	return cmp.Or(name, "csiproxy")
}
