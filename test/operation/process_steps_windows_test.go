// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// TestNodeStepsOnThisMachine stages, publishes and expands a disk and a share with the Windows kernel on fake disks,
// links and WMI, and takes them away again.
func TestNodeStepsOnThisMachine(t *testing.T) {
	disks := installDisks(t)
	disks.installLinks()
	wmi := fakeWMI(t)
	caller.OK(t, os.MkdirAll(filepath.Join(sharesFolder, "share"), 0o750))
	t.Cleanup(func() { _ = os.RemoveAll(sharesFolder) })
	prepareMachine(t)
	disks.world("disk 0 64G system", "raw unrecognized")
	testnode.Launch(t, "-v=2")
	// The disk is none of TestDisksOnThisMachine, whose images are kept.
	l := &diskLife{t: t, disks: disks, wmi: wmi, number: 7, used: map[string]bool{}}
	s := stepsLife{l, l.dial("nodesteps", "v1alpha1")}
	l.disk = l.dial("disk", "v1")
	l.volume = l.dial("volume", "v2alpha1")
	s.stageDisk()
	s.publish()
	s.expand()
	s.unstageDisk()
	s.share()
	if t.Failed() {
		return
	}
	for name := range l.used {
		if strings.HasPrefix(name, "nodesteps ") { // the others are proved by their lives
			t.Logf("faked: %s", name)
		}
	}
}

// A stepsLife is the life of a disk by the steps of a node service.
type stepsLife struct {
	*diskLife
	steps diskAPI
}

// A staged volume is what the answers of the steps say of it.
type stagedVolume struct {
	DiskNumber            uint32
	VolumeID              string `json:"volumeId"`
	DiskBytes, TotalBytes int64  `json:",string"`
	// of GetVolume
	UsedBytes, AvailableBytes int64 `json:",string"`
	Abnormal                  bool
	Reason                    string
}

func (s stepsLife) step(want codes.Code, method, format string, args ...any) (answer stagedVolume) {
	s.t.Helper()
	text := s.call(want, s.steps, method, fmt.Sprintf(format, args...))
	caller.OK(s.t, json.Unmarshal([]byte(text), &answer))
	return answer
}

// stageDisk stages a disk that arrives meanwhile, by its serial number, and again.
func (s stepsLife) stageDisk() {
	s.world(s.formatted()) // as soon as the volume is there; TestDisksOnThisMachine formats one
	const request = `{"target_path":%q,"serial_number":"ser-%d"}`
	got := s.step(codes.OK, "StageDisk", request, s.staging(), s.number)
	if got.DiskNumber != s.number || got.DiskBytes != 10<<30 || got.TotalBytes < 9<<30 || got.TotalBytes > 10<<30 {
		s.t.Errorf("StageDisk: got %+v", got)
	}
	s.id = got.VolumeID
	s.wantVolumeAt(s.staging(), codes.OK)
	s.wantReparse(s.staging(), mountPoint, `\??\`+s.id[4:])
	calls := len(s.disks.calls("SetVolumeMountPointW"))
	if again := s.step(codes.OK, "StageDisk", request, s.staging(), s.number); again != got {
		s.t.Errorf("a second StageDisk: got %+v, want %+v", again, got)
	}
	if len(s.disks.calls("SetVolumeMountPointW")) != calls {
		s.t.Error("a second StageDisk mounted the volume again")
	}
}

// publish publishes the volume, which is reached through the link.
func (s stepsLife) publish() {
	for range 2 {
		s.step(codes.OK, "Publish", `{"source_path":%q,"target_path":%q}`, s.staging(), s.published())
	}
	s.wantReparse(s.published(), symbolicLink, `\??\`+s.staging())
	for _, path := range []string{s.staging(), s.published()} {
		if got := s.step(codes.OK, "GetVolume", `{"target_path":%q}`, path); got.VolumeID != s.id || got.Abnormal ||
			got.TotalBytes < 9<<30 || got.UsedBytes+got.AvailableBytes != got.TotalBytes {
			s.t.Errorf("GetVolume(%s): got %+v", path, got)
		}
	}
}

func (s stepsLife) expand() {
	const request = `{"target_path":%q,"size_bytes":%d}`
	s.step(codes.Unavailable, "Expand", request, s.published(), int64(12<<30))
	s.world(s.formatted(), fmt.Sprintf("grown %d 12G", s.number))
	if got := s.step(codes.OK, "Expand", request, s.published(), int64(12<<30)); got.DiskBytes != 12<<30 ||
		got.TotalBytes < 11<<30 {
		s.t.Errorf("Expand: got %+v", got)
	}
}

// unstageDisk takes the link away, then the mount point, and with it the disk offline.
func (s stepsLife) unstageDisk() {
	s.step(codes.OK, "Unstage", `{"target_path":%q}`, s.published())
	if _, err := os.Stat(s.published()); !os.IsNotExist(err) {
		s.t.Errorf("the link is still there: %v", err)
	}
	s.wantVolumeAt(s.staging(), codes.OK)
	for range 2 {
		s.step(codes.OK, "Unstage", `{"target_path":%q}`, s.staging())
	}
	if _, err := os.Stat(s.staging()); !os.IsNotExist(err) {
		s.t.Errorf("the directory is still there: %v", err)
	}
	if s.mountedAt(s.staging()) {
		s.t.Error("the mount manager still has the folder")
	}
	s.answers(`{"isOnline":false}`, s.disk, "GetDiskState", s.aboutDisk(""))
}

// share stages a share and takes it away again with its mapping.
func (s stepsLife) share() {
	path := kubeletDir + `\plugins\share`
	s.wmi.world("share " + fileShare + " " + shareUser + " " + sharePass)
	for range 2 {
		s.step(codes.OK, "StageShare", `{"remote_path":%q,"target_path":%q,"username":%q,"password":%q}`, fileShare,
			path, shareUser, sharePass)
	}
	s.wantReparse(path, symbolicLink, `\??\UNC`+fileShare[1:])
	mapped := func() bool { return strings.Contains(s.wmi.read("state.txt"), fileShare) }
	if !mapped() {
		s.t.Error("the share is not mapped")
	}
	for range 2 {
		s.step(codes.OK, "Unstage", `{"target_path":%q}`, path)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		s.t.Errorf("the link is still there: %v", err)
	}
	if mapped() {
		s.t.Errorf("the share is still mapped:\n%s", s.wmi.read("state.txt"))
	}
}
