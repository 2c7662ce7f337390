// SPDX-License-Identifier: Apache-2.0

package doctor_test

import (
	"slices"
	"strings"
	"testing"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/doctor"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
)

func TestNPD(t *testing.T) {
	answers := []doctor.Endpoint{{Group: "disk", Version: "v1", State: doctor.Answers}}
	gone := &admin.Link{Path: `C:\var\lib\kubelet\pods\uid\mount`, Target: id,
		Kind: admin.Target_TARGET_VOLUME, Missing: true}
	looked := doctor.Facts{
		Endpoints: answers, Seen: &admin.GetFactsResponse{}, Tree: &treeview.Tree{},
		Services: []doctor.Service{{Name: "LanmanWorkstation", Installed: true, Status: "running", Start: "automatic"}},
	}
	sick, slow, partly := looked, looked, looked
	sick.Seen = &admin.GetFactsResponse{Links: []*admin.Link{gone, gone}}
	slow.Emulated.Faults = []string{"fault 1: Flush hang"}
	slow.Seen = &admin.GetFactsResponse{AllLinks: true, WorkingDirectories: []string{kubelet},
		Links: []*admin.Link{{Path: strings.TrimSuffix(staged("a"), `\`), Target: id, Kind: admin.Target_TARGET_VOLUME}}}
	partly.Seen = &admin.GetFactsResponse{Gaps: []*admin.Gap{{Part: "SMB mappings", Error: "out of time",
		Asked: admin.Part_PART_MAPPINGS}}}
	none := doctor.Facts{Endpoints: []doctor.Endpoint{{Group: "disk", Version: "v1", State: doctor.Absent}}}
	for name, test := range map[string]struct {
		facts   doctor.Facts
		reasons []string
		line    string
		code    int
	}{
		"in order": {looked, nil, "nothing is wrong", doctor.NPDOK},
		"notes":    {slow, nil, "nothing is wrong", doctor.NPDOK},
		"disks gone": {sick, nil,
			"DanglingMountPoint: the disk of a mounted volume is gone (and 1 more)", doctor.NPDProblem},
		"of this reason": {sick, []string{"DiskOffline", "DanglingMountPoint"},
			"DanglingMountPoint: the disk of a mounted volume is gone (and 1 more)", doctor.NPDProblem},
		"of another":    {sick, []string{"DiskOffline"}, "nothing is wrong", doctor.NPDOK},
		"no agent":      {none, []string{"NoAgent"}, "NoAgent: no agent serves the storage API here", doctor.NPDProblem},
		"nobody to ask": {none, []string{"SanPolicy"}, "not known: no agent serves this node", doctor.NPDUnknown},
		"not inspected": {doctor.Facts{Endpoints: answers}, []string{"DanglingMountPoint"},
			"not known: the agent's admin endpoint did not answer", doctor.NPDUnknown},
		"disks not listed": {doctor.Facts{Endpoints: answers}, []string{"DiskOffline"},
			"not known: the agent did not list the disks", doctor.NPDUnknown},
		"no services": {doctor.Facts{Endpoints: answers}, []string{"ServiceStopped"},
			"not known: the agent did not tell the states of services", doctor.NPDUnknown},
		"a part missing": {partly, []string{"StaleSmbMapping"},
			"not known: the agent could not look at SMB mappings", doctor.NPDUnknown},
		"another part": {partly, []string{"IscsiDisconnected"}, "nothing is wrong", doctor.NPDOK},
	} {
		line, code := doctor.NPD(test.facts, test.reasons)
		if line != test.line || code != test.code {
			t.Errorf("%s: got %q, %d, want %q, %d", name, line, code, test.line, test.code)
		}
	}
}

// fits reports an error if a finding's line is too long for node-problem-detector, or if its reason cannot be asked
// for.
func fits(t *testing.T, f doctor.Facts) {
	t.Helper()
	for _, finding := range doctor.Examine(f) {
		reason := finding.Reason()
		if reasons, notes := doctor.Reasons(); !slices.Contains(reasons, reason) &&
			(finding.Severity != doctor.Note || !slices.Contains(notes, reason)) {
			t.Errorf("%s, a %s, is not in the list of reasons", reason, finding.Severity)
		}
		if line, code := doctor.NPD(f, []string{reason}); finding.Severity != doctor.Note &&
			(len(line) > 80 || code != doctor.NPDProblem || !strings.HasPrefix(line, reason+": ")) {
			t.Errorf("%q has %d characters, exit code %d", line, len(line), code)
		}
	}
}

// TestLinesFit: names that are as long as they get do not make the lines longer.
func TestLinesFit(t *testing.T) {
	long := strings.Repeat(`\`+strings.Repeat("n", 200), 5)
	var dangling []*admin.Link
	for kind := range admin.Target_name {
		dangling = append(dangling, &admin.Link{Path: "C:" + long, Target: long, Kind: admin.Target(kind), Missing: true})
	}
	var privileges []*admin.Privilege
	for _, p := range []string{"links: CreateSymlink, and NewSmbGlobalMapping with a local path", "finding new disks: Rescan",
		"growing volumes: ResizeVolume"} {
		privileges = append(privileges, &admin.Privilege{Name: long, NeededFor: p})
	}
	fits(t, doctor.Facts{
		Seen: &admin.GetFactsResponse{
			Links:             append(dangling, &admin.Link{Path: "C:" + long, EndsAt: strings.TrimSuffix(staged("a"), `\`)}),
			MissingPrivileges: privileges, Mappings: []*admin.SMBMapping{{RemotePath: long, Status: "disconnected"}},
			Sessions: []*admin.ISCSISession{{Target: "iqn." + long}},
		},
		Unanswered:  []string{"disks and volumes", "services", "mount points and links"},
		Directories: []doctor.Directory{{Path: "C:" + long, Who: []string{long}}},
		Emulated:    doctor.EmulatedNode{Path: long, FreeBytes: 1, SizeBytes: gib},
		SANPolicy:   doctor.OfflineAll, AutomountOff: true, BitLockerRequired: true,
	})
}
