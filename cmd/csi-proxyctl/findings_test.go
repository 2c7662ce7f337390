// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/transport"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/faults"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/doctor"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
)

const (
	testVolume = `\\?\Volume{6e0b9e60-5d2f-4f43-9a5e-7a8d5f2b6c11}\`
	testStage  = `C:\var\lib\kubelet\plugins\kubernetes.io\csi\a.example\5f1c\globalmount`
)

// everyFinding returns facts in which doctor finds all that it knows.
func everyFinding() []doctor.Facts {
	yes, no := true, false
	disk := func(change func(*treeview.Disk)) treeview.Disk {
		d := treeview.Disk{Number: 3, SizeBytes: 10 << 30, Style: "GPT", Online: &yes, ReadOnly: &no, System: &no,
			BusType: "iSCSI", SerialNumber: "a",
			Partitions: []treeview.Partition{{Number: 2, SizeBytes: 10<<30 - 2<<20, Volume: &treeview.Volume{ID: testVolume,
				FileSystem: "NTFS", Formatted: true, TotalBytes: 10<<30 - 3<<20, MountPoints: []string{testStage + `\`}}}}}
		change(&d)
		return d
	}
	volume := func(d *treeview.Disk) *treeview.Volume { return d.Partitions[0].Volume }
	endpoint := func(group string, state doctor.State, server string) doctor.Endpoint {
		return doctor.Endpoint{Group: group, Version: "v1beta1", Address: `\\.\pipe\csi-proxy-` + group + "-v1beta1", State: state,
			Server: server}
	}
	broken := doctor.Facts{
		Endpoints: []doctor.Endpoint{endpoint("disk", doctor.Denied, "a"), endpoint("disk", doctor.Silent, "b"),
			endpoint("disk", doctor.Broken, "a")},
		Newest: map[string]string{"disk": "v1", "smb": "v1"},
		Services: []doctor.Service{
			{Name: "LanmanWorkstation", Installed: true, Status: "stopped", Start: "disabled"},
			{Name: "MSiSCSI", Installed: true, Status: "stopped", Start: "manual"},
			{Name: "csiproxy", Installed: true, Status: "stopped", Start: "automatic", Agent: true},
			{Name: "csiproxy", Installed: true, Status: "running", Start: "manual", Agent: true},
			{Name: "csiproxy", Installed: true, Status: "running", Start: "automatic", Agent: true, Wrapper: `C:\k\nssm.exe`},
		},
		Tree: &treeview.Tree{Disks: []treeview.Disk{
			disk(func(d *treeview.Disk) { d.Online = &no }),
			disk(func(d *treeview.Disk) { d.ReadOnly = &yes }),
			disk(func(d *treeview.Disk) { d.Partitions[0].Attributes = []string{"hidden", "read-only"} }),
			disk(func(d *treeview.Disk) { d.SizeBytes = 20 << 30 }),
			disk(func(d *treeview.Disk) { volume(d).TotalBytes = 5 << 30 }),
			disk(func(d *treeview.Disk) { volume(d).UsedBytes = volume(d).TotalBytes }),
			disk(func(d *treeview.Disk) { volume(d).MountPoints = []string{`D:\data\`} }),
			disk(func(d *treeview.Disk) { volume(d).Unknown, volume(d).Unanswered = "e", true }),
			disk(func(d *treeview.Disk) { d.Unknown = "e" }),
			disk(func(d *treeview.Disk) { d.Content = "e" }),
			disk(func(d *treeview.Disk) { volume(d).Formatted = false }),
			disk(func(d *treeview.Disk) {
				volume(d).MountPoints = append(volume(d).MountPoints, strings.Replace(testStage, "a.example", "b.example", 1))
			}),
		}},
		Seen: &admin.GetFactsResponse{
			Links: []*admin.Link{
				{Path: `C:\var\lib\kubelet\a`, Target: `C:\b`, Kind: admin.Target_TARGET_PATH, Missing: true},
				{Path: `C:\var\lib\kubelet\m`, Target: testVolume, Kind: admin.Target_TARGET_VOLUME, Missing: true},
				{Path: testStage, Target: testVolume, Kind: admin.Target_TARGET_VOLUME, Missing: true},
				{Path: `C:\var\lib\kubelet\s`, Target: `\\fs\gone`, Kind: admin.Target_TARGET_SHARE, Missing: true},
				{Path: `C:\var\lib\kubelet\pods\u\volumes\kubernetes.io~csi\v\mount`, Target: testStage, EndsAt: testStage,
					Kind: admin.Target_TARGET_PATH},
				{Path: strings.Replace(testStage, "5f1c", "6", 1), Target: testVolume, Kind: admin.Target_TARGET_VOLUME},
				{Path: strings.Replace(testStage, "5f1c", "8", 1), Target: testVolume + "8", Kind: admin.Target_TARGET_VOLUME,
					Missing: true},
				{Path: strings.Replace(testStage, "5f1c", "7", 1), Target: `\\fs\r`, Kind: admin.Target_TARGET_SHARE},
				{Path: `C:\k`, Target: `\\fs\t`, Kind: admin.Target_TARGET_SHARE},
				{Path: `C:\k\u`, Target: `\\fs\u`, Kind: admin.Target_TARGET_SHARE},
			},
			WorkingDirectories: []string{`C:\var\lib\kubelet`},
			Sessions:           []*admin.ISCSISession{{Target: "iqn.2026-01.example:a"}},
			Mappings: append(slices.Repeat([]*admin.SMBMapping{{RemotePath: `\\fs\s`, Status: "unavailable"}}, 500),
				&admin.SMBMapping{RemotePath: `\\fs\t`, Error: "e", WithoutCredentials: true},
				&admin.SMBMapping{RemotePath: `\\fs\u`, Error: "e", Win32Code: 5}),
			AllLinks: true,
			UnusableDirectories: []*admin.WorkingDirectory{{Path: `C:\k`, Error: "e"},
				{Path: `C:\k`, Error: "e", LinkTarget: `D:\k`}},
			Operations: []*admin.Operation{{Name: "Mkdir", Call: true, Age: durationpb.New(9 * time.Second)},
				{Name: "Rescan", Call: true, Age: durationpb.New(time.Minute)},
				{Name: "WriteVolumeCache", Call: true, Age: durationpb.New(time.Hour)}},
			Limits: []*admin.Limit{{What: "calls", Used: 9, Most: 9},
				{Process: "pid 7", What: "connections", Used: 1, Most: 1}},
			Policy:            &admin.PolicyDecisions{File: `C:\k\policy.yaml`, Refused: 1},
			MissingPrivileges: []*admin.Privilege{{Name: "SeLoadDriverPrivilege", NeededFor: "finding new disks: Rescan"}},
		},
		AutomountOff: true, SANPolicy: doctor.OfflineAll, BitLockerRequired: true,
		Directories: []doctor.Directory{{Path: `C:\k`, Who: []string{"Users"}}, {Path: "/run/a", Who: []string{"all"}}},
		Emulated: doctor.EmulatedNode{Faults: []string{"fault 1: Flush hang"}, Path: "/state", FreeBytes: 1,
			SizeBytes: 1 << 30},
	}
	gone := doctor.Facts{Unanswered: []string{"services"}, Seen: &admin.GetFactsResponse{Links: broken.Seen.GetLinks()}}
	strange := doctor.Facts{Tree: &treeview.Tree{Disks: []treeview.Disk{{Content: "data"}}}}
	return []doctor.Facts{broken, gone, strange, {Endpoints: []doctor.Endpoint{endpoint("disk", doctor.Absent, "")}},
		{Endpoints: []doctor.Endpoint{{Address: "/run/csi-proxy-disk-v1.sock", State: doctor.Abandoned}}}}
}

// programs begin a command in what a finding says to do; a command ends at a comma or a colon.
var programs = regexp.MustCompile(`(?:^|[ (])((?:csi-proxyctl|csi-proxy|csi-proxy-emulated|sc|sc\.exe|icacls|mountvol|` +
	`gpupdate|chmod|kubectl|Test-NetConnection) [^,;]*?)(?:, |; |: |$)`)

// TestCommandsOfFindings reads every command of every finding as its shells do, and looks for the subcommand, the flags
// and the arguments of each of csi-proxyctl.
func TestCommandsOfFindings(t *testing.T) {
	reasons, notes := doctor.Reasons()
	missing, typed := slices.Concat(reasons, notes), map[string]bool{}
	for _, facts := range everyFinding() {
		for _, finding := range doctor.Examine(facts) {
			missing = slices.DeleteFunc(missing, func(reason string) bool { return reason == finding.Reason() })
			for _, do := range finding.Do {
				for _, command := range programs.FindAllStringSubmatch(do, -1) {
					if typed[command[1]] {
						continue
					}
					typed[command[1]] = true
					if err := typeCommand(t, command[1]); err != nil {
						t.Errorf("%s: %s: %v", finding.Check, command[1], err)
					}
				}
			}
		}
	}
	if len(missing) > 0 || len(typed) < 25 {
		t.Errorf("%d commands were typed; nothing found %q", len(typed), missing)
	}
}

func typeCommand(t *testing.T, line string) error {
	t.Helper()
	words, err := read(line, powerShell)
	if err != nil {
		return fmt.Errorf("PowerShell: %w", err)
	}
	if !strings.Contains(line, "'") { // others need quotes, which cmd.exe has not
		if same, err := read(line, cmdExe); err != nil || !slices.Equal(same, words) {
			return fmt.Errorf("cmd.exe: %q, %w", same, err)
		}
	}
	switch words[0] {
	case "sc":
		return errors.New("it is Set-Content in PowerShell")
	case "csi-proxyctl", "kubectl", "chmod", "csi-proxy-emulated":
		if same, err := read(line, posix); err != nil || !slices.Equal(same, words) {
			return fmt.Errorf("a POSIX shell: %q, %w", same, err)
		}
	}
	if words[0] != "csi-proxyctl" {
		return nil
	}
	root, _ := commands(io.Discard)
	c, args, err := root.Find(words[1:])
	if err != nil {
		return err
	}
	return errors.Join(c.ParseFlags(args), c.ValidateArgs(c.Flags().Args()), c.ValidateRequiredFlags(),
		map[bool]error{true: errors.New("no command of csi-proxyctl")}[c.HasSubCommands()])
}

// A shell's grammar is what stands for itself outside quotes, and the quotes within which everything does.
type grammar struct{ special, quote string }

var (
	powerShell = grammar{"(){};,|&$\"`<>@#\u2018\u2019\u201c\u201d", "'"}
	posix      = grammar{"(){};|&$\"`<>#*?[]~!\\", "'"}
	cmdExe     = grammar{"()|&<>^%!,;\"'", ""}
)

// read returns the words of a command line. It fails for characters that the shell would interpret.
func read(line string, shell grammar) (words []string, err error) {
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		var word string
		if quoted, is := strings.CutPrefix(line, shell.quote); is && shell.quote != "" {
			var closed bool
			word, line, closed = strings.Cut(quoted, shell.quote)
			if !closed || line != "" && line[0] != ' ' {
				return words, fmt.Errorf("a quote is not closed, or not at the end of a word: %s", quoted)
			}
		} else {
			word, line, _ = strings.Cut(line, " ")
			if i := strings.IndexAny(word, shell.special+shell.quote); i >= 0 && !strings.HasPrefix(word, "-") {
				return words, fmt.Errorf("%q is interpreted in %s", word[i:i+1], word)
			}
		}
		words = append(words, word)
	}
	return words, nil
}

// TestPolicyOfOperators: the example rule lets csi-proxyctl call every method, on the node alone.
func TestPolicyOfOperators(t *testing.T) {
	text, err := os.ReadFile("../../deploy/policies/operator.yaml")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := policy.Parse("operator.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	operator := transport.Peer{Image: `C:\Program Files\csi-proxy\csi-proxyctl.exe`, Identity: transport.Identity{
		SID: "S-1-5-21-1-2-3-500", Elevated: true, Container: transport.NoContainer}}
	rule, err := rules.RuleOf(operator)
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range faults.Methods() {
		if err := rule.Method(method); err != nil {
			t.Error(err)
		}
	}
	operator.Image = `C:\driver\driver.exe`
	if _, err := rules.RuleOf(operator); err == nil || !strings.Contains(err.Error(), "deploy/policies/operator.yaml") {
		t.Errorf("another program: got %v, want a refusal that names the file", err)
	}
}
