// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/treeview"
)

// services judges the Windows services that storage needs.
func services(f Facts) []Finding {
	var findings []Finding
	for _, s := range f.Services {
		running := s.Status == "running"
		found := func(severity Severity, check, what string, do ...string) {
			findings = append(findings, Finding{severity, check, what, evidence(s), do})
		}
		switch start := startService(s); {
		case strings.EqualFold(s.Name, "LanmanWorkstation") && !running:
			found(Problem, "service-stopped",
				"the SMB client, LanmanWorkstation, does not run: no share can be mapped or reached", start...)
		case strings.EqualFold(s.Name, "MSiSCSI") && !running && usesISCSI(f):
			found(Problem, "service-stopped", "the iSCSI initiator, MSiSCSI, does not run: this node has iSCSI disks",
				start...)
		case strings.EqualFold(s.Name, "MSiSCSI") && !running && s.Start == "automatic":
			found(Warning, "service-stopped",
				"the iSCSI initiator, MSiSCSI, should run and does not: calls of the iscsi group fail", start...)
		case strings.EqualFold(s.Name, "MSiSCSI") && !running:
			found(Note, "service-stopped",
				"the iSCSI initiator, MSiSCSI, does not run, which is Windows' default; calls of the iscsi group fail", start...)
		case s.Agent && s.Installed && !running && !strings.HasSuffix(s.Status, "-pending"):
			found(Warning, "service-stopped",
				"the agent's service is installed and does not run: another agent answers, which may end with its container",
				command("sc start %s", argument{"SERVICE", s.Name}),
				"if a DaemonSet has taken over: "+command("csi-proxy service uninstall -name %s", argument{"SERVICE", s.Name}))
		case s.Agent && s.Installed && s.Start != "automatic":
			found(Warning, "service-not-automatic", "the agent's service does not start with the node",
				command("sc config %s start= auto", argument{"SERVICE", s.Name}))
		case s.Wrapper != "":
			found(Note, "service-wrapped",
				"another program starts the agent, and may cut off its operations when the service stops",
				command("csi-proxy service install -name %s -start", argument{"SERVICE", s.Name}))
		}
	}
	return findings
}

// startService returns the steps that start a service.
func startService(s Service) []string {
	name := argument{"SERVICE", s.Name}
	auto, start := command("sc config %s start= auto", name), command("csi-proxyctl system service start %s", name)
	switch {
	case !s.Installed:
		return []string{"install the Windows feature that has the service " + s.Name}
	case s.Start == "disabled":
		return []string{auto, start}
	case s.Start != "automatic":
		return []string{start, "for good: " + auto}
	default:
		return []string{start}
	}
}

func evidence(s Service) []string {
	if !s.Installed {
		return []string{"service " + s.Name + ": not installed"}
	}
	text := "service " + s.Name + ": " + s.Status + ", starts " + s.Start
	if s.Wrapper != "" {
		text += ", runs " + s.Wrapper
	}
	return []string{text}
}

// usesISCSI reports whether the node has an iSCSI disk.
func usesISCSI(f Facts) bool {
	return f.Tree != nil && slices.ContainsFunc(f.Tree.Disks,
		func(d treeview.Disk) bool { return strings.EqualFold(d.BusType, "iSCSI") })
}
