// SPDX-License-Identifier: Apache-2.0

//go:build unix

package hostile

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/reparse"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// The steps of a share's volume, and what they leave.
const (
	shared = caller.OtherShare
	staged = own + `\share`
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

// A pipe, or a link, in the place of a record hangs no step and makes no file elsewhere. Steps end, and the mapping stays
// while the share's users are unknown. Files without a record's name do not count. The agent stops.
func TestPlantedRecords(t *testing.T) {
	g := attack(t, testnode.Options{})
	outside := filepath.Join(g.unrelatedDir, "made")
	dir := filepath.Join(g.StateDir, "records")
	g.OK(os.MkdirAll(dir, 0o700))
	for what, plant := range map[string]func(name string) error{
		"a pipe": func(name string) error { return syscall.Mkfifo(name, 0o600) },
		"a link": func(name string) error { return os.Symlink(outside, name) },
	} {
		for name, counts := range map[string]bool{"0123456789abcdef01234567.json": true, "planted.json": false} {
			planted := filepath.Join(dir, name)
			g.OK(plant(planted))
			g.OK(g.StageShare(shared, staged))
			g.OK(g.Unstage(staged))
			if counts {
				g.Mapped(shared)
			} else {
				g.Mapped()
			}
			g.OK(os.Remove(planted))
			g.OK(g.Unstage(staged))
			g.Mapped()
		}
		if _, err := os.Lstat(outside); err == nil {
			t.Errorf("%s: a file was made elsewhere", what)
		}
	}
	g.OK(syscall.Mkfifo(filepath.Join(dir, "0123456789abcdef01234567.json"), 0o600))
	g.OK(g.Agent.Stop(t.Context()))
}

// A record of a share that cannot be read goes with Unstage of its target, or it would keep the mapping for good: it may
// be of any share.
func TestDamagedRecordGoesWithItsTarget(t *testing.T) {
	g := attack(t, testnode.Options{})
	g.OK(g.StageShare(shared, staged))
	g.OK(os.WriteFile(g.recordOf(".json"), []byte("damaged"), 0o600))
	g.OK(g.Unstage(staged))
	g.OK(g.StageShare(shared, staged+"2"))
	g.OK(g.Unstage(staged + "2"))
	g.Mapped()
}

// A staged target above which a link out of the working directories is now, so that nothing shows whether it is in use,
// keeps its mapping.
func TestTargetBehindALinkKeepsItsMapping(t *testing.T) {
	g := attack(t, testnode.Options{})
	const above = own + `\above`
	g.OK(g.StageShare(shared, above+`\share`))
	g.OK(g.StageShare(shared, staged))
	g.OK(os.Rename(g.HostPath(above), g.HostPath(own)+"/aside"))
	g.plant(above, reparse.Symlink(canary))
	g.OK(g.Unstage(staged))
	g.Mapped(shared)
}

// The records' directory may not be a link: nothing is staged, and nothing written elsewhere.
func TestRecordsBehindALink(t *testing.T) {
	g := attack(t, testnode.Options{})
	dir := filepath.Join(g.StateDir, "records")
	g.OK(os.RemoveAll(dir))
	g.OK(os.Symlink(g.unrelatedDir, dir))
	before, err := os.ReadDir(g.unrelatedDir)
	g.OK(err)
	g.Code(g.StageShare(shared, staged), codes.FailedPrecondition)
	g.OK(g.NewSmbGlobalMapping(shared, "", caller.User, caller.Password)) // which succeeds without records
	g.Code(g.Unstage(staged), codes.FailedPrecondition)
	g.Mapped(shared)
	if after, err := os.ReadDir(g.unrelatedDir); err != nil || len(after) != len(before) {
		t.Errorf("elsewhere are %v, %v", after, err)
	}
}

// halfUnstaged unstages a disk that does not go offline, and returns its number and the record that says so.
func (g *target) halfUnstaged() (number uint32, record string) {
	number = g.Attach(bundle.Spec{})
	g.OK(g.StageDisk(number, staged))
	g.Faults.Add(testnode.Fault{Function: "DeviceIoControl", Code: win32.IOCTL_DISK_SET_DISK_ATTRIBUTES, Times: 1,
		Error: win32.ERROR_IO_DEVICE})
	g.Code(g.Unstage(staged), codes.Unavailable)
	return number, g.recordOf(".leaving")
}

// A damaged record of an unstaging is an error, which names the file and what to do.
func TestDamagedRecordOfAnUnstaging(t *testing.T) {
	g := attack(t, testnode.Options{})
	number, record := g.halfUnstaged()
	g.OK(os.WriteFile(record, []byte("damaged"), 0o600))
	g.Refused(g.Unstage(staged), codes.FailedPrecondition, reason.NoRecords, record, "remove it, and take the disk offline")
	g.OK(os.Remove(record))
	g.OK(g.Unstage(staged))
	g.OK(g.SetDiskState(number, false))
}

// Unstage takes a disk offline without room for a record.
func TestUnstageNeedsNoRoom(t *testing.T) {
	g := attack(t, testnode.Options{})
	number, record := g.halfUnstaged()
	g.OK(g.Unstage(staged))
	g.OK(g.StageDisk(number, staged))
	g.OK(os.MkdirAll(filepath.Join(record+".new", "in the way"), 0o700))
	g.OK(g.Unstage(staged))
	if online, err := g.GetDiskState(number); online || err != nil {
		t.Errorf("the disk is online: %t, %v", online, err)
	}
}

// A rule that no longer allows a share's server does not keep what was staged before from being torn down.
func TestUnstageAfterTheRuleHasChanged(t *testing.T) {
	g := attack(t, testnode.Options{})
	g.hostDir(own)
	g.OK(g.StageShare(shared, staged))
	g = g.restricted("  methods: [nodesteps]\n  directories: ['" + own + "']\n")
	g.wantPolicy(map[string]error{"the server": g.StageShare(shared, staged)})
	for range 2 {
		g.OK(g.Unstage(staged))
		g.Mapped()
	}
}
