// SPDX-License-Identifier: Apache-2.0

package node

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
)

// DefaultProtectedServices returns the services that StopService does not stop unless the operator says otherwise.
// Without them, a Kubernetes node loses its pods, network, shares, protection or logs. A driver has no reason to stop
// any of them. MSiSCSI is not among them, because drivers for iSCSI start it and may restart it.
func DefaultProtectedServices() []string {
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

// ProtectedServices returns the services that a list of items names: NAME adds one, * the default ones, and -NAME takes
// one away again. None, alone, protects none. No items mean the default.
func ProtectedServices(items []string) (names []string, err error) {
	switch {
	case len(items) == 0:
		return DefaultProtectedServices(), nil
	case len(items) == 1 && items[0] == noProtectedServices:
		return nil, nil
	}
	var excluded []string
	for _, item := range items {
		name, minus := strings.CutPrefix(item, "-")
		switch {
		case item == "*":
			names = append(names, DefaultProtectedServices()...)
			continue
		case item == noProtectedServices:
			return nil, fmt.Errorf("%q stands alone or not at all", item)
		case minus:
			excluded = append(excluded, name)
		default:
			names = append(names, name)
		}
		if err := checkServiceName(name); err != nil {
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
func (n *Node) protected(service string) (name string, yes bool) {
	i := slices.IndexFunc(n.protectedServices, func(one string) bool { return sameService(one, service) })
	if i < 0 {
		return "", false
	}
	return n.protectedServices[i], true
}

// mayStop refuses the agent's own service and the protected ones. Windows opens a service by this one name only.
func (n *Node) mayStop(service string) error {
	if sameService(service, n.ownService()) {
		return errdefs.FailedPrecondition.Errorf(reason.OwnService,
			"service %s is this agent, which does not stop itself", service)
	}
	if name, protected := n.protected(service); protected {
		return errdefs.FailedPrecondition.Errorf(reason.ProtectedService,
			"the node needs service %s, which no caller may stop; %s", name, whoMayAllow(name))
	}
	return nil
}

// mayStopDependents refuses to stop a service on which the agent or a protected service depends.
func (n *Node) mayStopDependents(service string, dependents []string) error {
	own := n.ownService()
	if slices.ContainsFunc(dependents, func(one string) bool { return sameService(one, own) }) {
		return errdefs.FailedPrecondition.Errorf(reason.OwnService,
			"this agent's own service, %s, depends on service %s; the agent does not stop itself", own, service)
	}
	for _, dependent := range dependents {
		if name, protected := n.protected(dependent); protected {
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
