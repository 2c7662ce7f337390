// SPDX-License-Identifier: Apache-2.0

//go:build unix

package hostile

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	steps "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// recordOf returns the agent's one record of a kind.
func (g *target) recordOf(suffix string) string {
	g.t.Helper()
	files, err := filepath.Glob(filepath.Join(g.StateDir, "records", "*"+suffix))
	if err != nil || len(files) != 1 {
		g.t.Fatalf("the records *%s are %q, %v", suffix, files, err)
	}
	return files[0]
}

func (g *target) stageShare(remote, at string) error {
	g.t.Helper()
	_, err := g.steps().StageShare(g.t.Context(), &steps.StageShareRequest{RemotePath: remote, TargetPath: at,
		Username: "csi", Password: "csi-password"})
	return err
}

func (g *target) unstage(at string) error {
	g.t.Helper()
	_, err := g.steps().Unstage(g.t.Context(), &steps.UnstageRequest{TargetPath: at})
	return err
}

// mapped reports whether a share is mapped.
func (g *target) mapped(share string) bool {
	g.t.Helper()
	all, err := g.Emulated.SMBGlobalMappings()
	noError(g.t, err)
	for _, m := range all {
		if strings.EqualFold(m.RemotePath, share) {
			return true
		}
	}
	return false
}

// A pipe, or a link, among the agent's records hangs no step and makes no file elsewhere. Steps end, and the mapping
// stays while it is not known who uses the share. The agent stops.
func TestPlantedRecords(t *testing.T) {
	g := attack(t, testnode.Options{})
	const shared, at, second = `\\fs.emulated\other`, pods + `\share`, pods + `\second`
	outside := filepath.Join(g.unrelatedDir, "made")
	dir := filepath.Join(g.StateDir, "records")
	noError(t, os.MkdirAll(dir, 0o700))
	for what, plant := range map[string]func(name string) error{
		"a pipe": func(name string) error { return syscall.Mkfifo(name, 0o600) },
		"a link": func(name string) error { return os.Symlink(outside, name) },
	} {
		planted := filepath.Join(dir, "planted.json")
		noError(t, plant(planted))
		noError(t, g.stageShare(shared, at))
		noError(t, g.stageShare(shared, second))
		noError(t, g.unstage(at))
		noError(t, g.unstage(second))
		if !g.mapped(shared) {
			t.Errorf("%s: the mapping is gone, although its users are not known", what)
		}
		noError(t, os.Remove(planted))
		noError(t, g.unstage(at))
		if g.mapped(shared) {
			t.Errorf("%s: the mapping stays without users", what)
		}
		if _, err := os.Lstat(outside); err == nil {
			t.Errorf("%s: a file was made elsewhere", what)
		}
	}
	noError(t, syscall.Mkfifo(filepath.Join(dir, "planted.json"), 0o600))
	noError(t, g.Agent.Stop(t.Context()))
}

// While Windows does not list kubelet's directory, where other users of a share may be, unstaging fails and keeps the
// mapping and its record, so that a repetition removes both.
func TestUnstageWhileUsersCannotBeListed(t *testing.T) {
	g := attack(t, testnode.Options{})
	const shared, at = `\\fs.emulated\other`, pods + `\share`
	noError(t, g.stageShare(shared, at))
	g.Faults.Add(testnode.Fault{Function: "Information", Code: win32.FileFullDirectoryRestartInfo, Object: pods, Times: 1,
		Error: win32.ERROR_NOT_READY})
	if g.unstage(at) == nil {
		t.Fatal("unstaged, although the users of the share are not known")
	}
	if g.recordOf(".json"); !g.mapped(shared) {
		t.Error("the mapping is gone, although its users are not known")
	}
	noError(t, g.unstage(at))
	if g.mapped(shared) {
		t.Error("the mapping stays without users")
	}
}

// A volume is torn down, and its disk taken offline, where there is no room for a record.
func TestUnstageNeedsNoRoom(t *testing.T) {
	g := attack(t, testnode.Options{})
	number, err := g.Emulated.AttachDisk(emulated.DiskSpec{SizeBytes: 256 << 20, LUNAuto: true})
	noError(t, err)
	at := pods + `\volume`
	stage := func() {
		t.Helper()
		_, err := g.steps().StageDisk(t.Context(), &steps.StageDiskRequest{TargetPath: at,
			Disk: &steps.StageDiskRequest_DiskNumber{DiskNumber: number}})
		noError(t, err)
	}
	stage()
	g.Faults.Add(testnode.Fault{Function: "DeviceIoControl", Code: win32.IOCTL_DISK_SET_DISK_ATTRIBUTES, Times: 1,
		Error: win32.ERROR_IO_DEVICE})
	if g.unstage(at) == nil {
		t.Fatal("unstaged, although the disk did not go offline")
	}
	record := g.recordOf(".leaving")
	noError(t, g.unstage(at))
	stage()
	noError(t, os.MkdirAll(filepath.Join(record+".new", "in the way"), 0o700))
	noError(t, g.unstage(at))
	for _, d := range g.Tree().GetDisks() {
		if d.GetNumber() == number && d.GetOnline() {
			t.Error("the disk is online")
		}
	}
}

// A rule that no longer allows a share's server does not keep what was staged before from being torn down.
func TestUnstageAfterTheRuleHasChanged(t *testing.T) {
	g := attack(t, testnode.Options{})
	const shared, at = `\\fs.emulated\other`, own + `\share`
	g.hostDir(own)
	noError(t, g.stageShare(shared, at))
	g = g.restricted(testnode.Options{}, "- name: own\n  clients: [{any: true}]\n  methods: [nodesteps]\n"+
		"  directories: ['"+own+"']\n")
	wantPolicy(t, "the server", g.stageShare(shared, at))
	for range 2 {
		noError(t, g.unstage(at))
		if g.mapped(shared) {
			t.Error("the mapping stays without users")
		}
	}
}
