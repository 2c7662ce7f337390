// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"strings"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
)

// services judges the Windows services that storage needs.
func (r *report) services() {
	for _, s := range r.Services {
		name := argument{"SERVICE", s.Name}
		smb, iscsi := strings.EqualFold(s.Name, "LanmanWorkstation"), isInitiator(s)
		stopped := s.Status != "running"
		found := func(severity Severity, check, what string, do ...string) {
			r.add(severity, check, what, append(said(evidence(s)), r.suffering(smb, iscsi)...), do...)
		}
		switch {
		case smb && stopped:
			found(Problem, "service-stopped",
				"the SMB client, LanmanWorkstation, does not run: no share can be mapped or reached", startService(s)...)
		case iscsi && stopped && r.usesISCSI():
			found(Problem, "service-stopped", "the iSCSI initiator, MSiSCSI, does not run: this node has iSCSI disks",
				startService(s)...)
		case iscsi && stopped && s.Start == "automatic":
			found(Warning, "service-stopped",
				"the iSCSI initiator, MSiSCSI, should run and does not: calls of the iscsi group fail", startService(s)...)
		case s.Agent && (s.Status == "stopped" || s.Status == "paused"):
			found(Warning, "service-stopped",
				"the agent's service is installed and does not run: another agent answers, which may end with its container",
				command("sc.exe start %s", name),
				"if a DaemonSet has taken over: "+command("csi-proxy service uninstall -name %s", name))
		case s.Agent && s.Installed && s.Start != "automatic":
			found(Warning, "service-not-automatic", "the agent's service does not start with the node",
				command("sc.exe config %s start= auto", name))
		case s.Wrapper != "":
			found(Note, "service-wrapped",
				"another program starts the agent, and may cut off its operations when the service stops",
				command("csi-proxy service install -name %s -start", name))
		}
	}
}

func isInitiator(s Service) bool { return strings.EqualFold(s.Name, "MSiSCSI") }

// suffering names what uses shares, or iSCSI disks, without the service for them.
func (r *report) suffering(smb, iscsi bool) (lines []Evidence) {
	for _, l := range r.Seen.GetLinks() {
		if smb && l.GetKind() == admin.Target_TARGET_SHARE {
			lines = append(lines, missingIn(lines, r.usersOf(l.GetTarget()))...)
		}
	}
	for _, d := range r.Tree.Disks {
		if iscsi && isISCSI(d) {
			lines = append(lines, r.podsOn(d)...)
		}
	}
	return lines
}

// startService returns the steps that start a service.
func startService(s Service) []string {
	name := argument{"SERVICE", s.Name}
	auto, start := command("sc.exe config %s start= auto", name), command("csi-proxyctl system service start %s", name)
	switch {
	case !s.Installed:
		return []string{"install the Windows feature that has the service " + s.Name}
	case s.Status == "paused":
		return []string{command("sc.exe continue %s", name)}
	case strings.HasSuffix(s.Status, "-pending"):
		return []string{command("csi-proxyctl system service get %s: what it is by now", name),
			"if it stays so: drain and restart the node"}
	case s.Start == "disabled":
		return []string{auto, start}
	case s.Start != "automatic":
		return []string{start, "for good: " + auto}
	default:
		return []string{start}
	}
}

func evidence(s Service) string {
	if !s.Installed {
		return "service " + s.Name + ": not installed"
	}
	text := "service " + s.Name + ": " + s.Status + ", starts " + s.Start
	if s.Wrapper != "" {
		text += ", runs " + s.Wrapper
	}
	return text
}
