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

// named returns facts in which everything on a node that has a name has this one.
func named(name string) doctor.Facts {
	grown, small, raw := mounted(), mounted(), mounted()
	grown.SizeBytes = 20 * gib
	small.Partitions[1].Volume.TotalBytes = gib
	raw.ReadOnly, raw.SerialNumber, raw.Page83, raw.BusType = raw.Online, name, name, name
	for _, d := range []treeview.Disk{grown, small, raw} {
		d.Partitions[1].Volume.ID, d.Partitions[1].Volume.MountPoints = name, []string{name, staged(name), staged("x")}
	}
	return doctor.Facts{
		Endpoints: []doctor.Endpoint{
			{Group: name, Version: name, Address: name, State: doctor.Denied, Detail: name, Server: name},
			{Group: "disk", Version: name, Address: name, State: doctor.Answers, Server: "other"},
		},
		Newest:   map[string]string{"disk": "v1", name: "v1"},
		Services: []doctor.Service{{Name: "MSiSCSI", Installed: true, Status: name, Start: name}},
		Tree:     &treeview.Tree{Disks: []treeview.Disk{grown, small, raw}},
		Seen: &admin.GetFactsResponse{
			Links: []*admin.Link{
				{Path: name, Target: `C:\b`, Kind: admin.Target_TARGET_PATH, Missing: true},
				{Path: `C:\m`, Target: name, Kind: admin.Target_TARGET_VOLUME, Missing: true},
				{Path: name, Target: name, Kind: admin.Target_TARGET_VOLUME, Missing: true},
				{Path: name, Target: name, Kind: admin.Target_TARGET_SHARE, Missing: true},
				{Path: name, EndsAt: `C:\k\plugins\kubernetes.io\csi\d\` + name + `\globalmount`, Kind: admin.Target_TARGET_PATH},
				{Path: `C:\k\plugins\kubernetes.io\csi\d\` + name + `\globalmount`, Target: "v" + name,
					Kind: admin.Target_TARGET_VOLUME},
				{Path: `C:\k\plugins\kubernetes.io\csi\e\` + name + `\globalmount`, Target: `\\` + name,
					Kind: admin.Target_TARGET_SHARE},
			},
			AllLinks: true, WorkingDirectories: []string{`C:\k`},
			Mappings: []*admin.SMBMapping{{RemotePath: `\\` + name + `\s`, Status: name, Error: name, WithoutCredentials: true},
				{RemotePath: `\\s\` + name, Status: name}},
			UnusableDirectories: []*admin.WorkingDirectory{{Path: name, Error: name, LinkTarget: name}},
			MissingPrivileges:   []*admin.Privilege{{Name: name, UserRight: name, NeededFor: name}},
		},
		AutomountOff: true, SANPolicy: doctor.OfflineAll,
		Directories: []doctor.Directory{{Path: name, Who: []string{name}}, {Path: `C:\` + name, Who: []string{name}}},
		Unanswered:  []string{name},
	}
}

// A name that a workload chose never becomes part of a line that an administrator pastes into any shell.
func TestNamesThatShellsInterpret(t *testing.T) {
	for _, character := range strings.Split(
		"' \" ` ; & | < > ( ) [ ] $ % ^ ! * + , = @ / \n \r \t \x00 \u2018 \u2019 \u201a \u201b \u201c \u201d \u201e "+
			"\u02b9 \u02bc \uff07 \u00e9 \u2013", " ") {
		checkCommands(t, "x"+character+"y", character)
	}
	checkCommands(t, "x y", "x y")
}

func checkCommands(t *testing.T, name, dangerous string) {
	t.Helper()
	hidden := 0
	for _, got := range doctor.Examine(named(name)) {
		for _, do := range got.Do {
			if strings.Contains(do, name) {
				t.Errorf("%s with the name %q says: %s", got.Check, name, do)
			}
			if !strings.Contains(do, "from above") {
				continue
			}
			hidden++
			if !slices.ContainsFunc(append(evidence(got), got.What),
				func(text string) bool { return strings.Contains(text, dangerous) }) {
				t.Errorf("%s does not show the name %q beside: %s", got.Check, name, do)
			}
		}
	}
	if hidden != 14 {
		t.Errorf("%d commands with the name %q were looked at, want 14", hidden, name)
	}
}

// A harmless name stands in the command, in single quotes if it needs any.
func TestNamesInCommands(t *testing.T) {
	const hidden = "PATH, with PATH from above, quoted for your shell: it has characters that shells interpret"
	for name, want := range map[string]string{
		`C:\a_b-c.d~1#{0}?`: `'C:\a_b-c.d~1#{0}?'`, "fs-1.example": "fs-1.example", "": hidden, "-Confirm": hidden,
	} {
		got := verdicts(t, doctor.Facts{Seen: &admin.GetFactsResponse{Links: []*admin.Link{{Path: name, Missing: true}}}})
		if len(got) != 1 || got[0] != "warning dangling-link: csi-proxyctl fs rmdir "+want {
			t.Errorf("%q: got %v, want %s", name, got, want)
		}
	}
}
