// SPDX-License-Identifier: Apache-2.0

package admin_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	diskapi "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/client/api/filesystem/v2alpha1"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	smbapi "github.com/kubernetes-csi/csi-proxy/client/api/smb/v1"
	volumeapi "github.com/kubernetes-csi/csi-proxy/client/api/volume/v2alpha1"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

const pods = `C:\var\lib\kubelet\pods`

// stage partitions and formats disk 1 and mounts its volume; it returns the volume's id.
func stage(t *testing.T, n *testnode.Node, at string) string {
	t.Helper()
	_, err := n.Disk.PartitionDisk(t.Context(), &diskapi.PartitionDiskRequest{DiskNumber: 1})
	noError(t, err)
	volumes, err := n.Volume.ListVolumesOnDisk(t.Context(), &volumeapi.ListVolumesOnDiskRequest{DiskNumber: 1})
	noError(t, err)
	id := volumes.GetVolumeIds()[0]
	_, err = n.Volume.FormatVolume(t.Context(), &volumeapi.FormatVolumeRequest{VolumeId: id})
	noError(t, err)
	_, err = n.Volume.MountVolume(t.Context(), &volumeapi.MountVolumeRequest{VolumeId: id, TargetPath: at})
	noError(t, err)
	return id
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// look returns the facts that cost no answer of a file server, and other parts.
func look(t *testing.T, n *testnode.Node, more ...admin.Part) *admin.GetFactsResponse {
	t.Helper()
	r, err := n.Admin(t).GetFacts(t.Context(), &admin.GetFactsRequest{Parts: append(more, admin.Part_PART_LINKS,
		admin.Part_PART_MAPPINGS, admin.Part_PART_SESSIONS)})
	noError(t, err)
	return r
}

// settled looks at the node when no operation is running: a caller gets its answer a moment before the operation is
// over.
func settled(t *testing.T, n *testnode.Node) *admin.GetFactsResponse {
	t.Helper()
	waitCtx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r := look(t, n)
	for len(r.GetOperations()) != 0 && waitCtx.Err() == nil {
		r = look(t, n)
	}
	return r
}

// TestFactsOfLinks: mount points and links are shown with what they lead to, and whether it is there; sessions and
// mappings as they are.
func TestFactsOfLinks(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	const staging = `C:\var\lib\kubelet\plugins\kubernetes.io\csi\ebs.csi.aws.com\5f1c\globalmount`
	id := stage(t, n, staging)
	volume := func(path string) *admin.Link {
		return &admin.Link{Path: path, Target: id, Kind: admin.Target_TARGET_VOLUME}
	}
	to := func(path, target, end string) *admin.Link {
		return &admin.Link{Path: path, Target: target, Kind: admin.Target_TARGET_PATH, EndsAt: end}
	}
	share := &admin.Link{Path: pods + `\share`, Target: `\\fs.emulated\share`, Kind: admin.Target_TARGET_SHARE}
	same(t, "staged", settled(t, n), &admin.GetFactsResponse{Links: []*admin.Link{volume(staging)}})
	portal := &iscsiapi.TargetPortal{TargetAddress: "192.0.2.10"}
	_, err := n.ISCSI.AddTargetPortal(t.Context(), &iscsiapi.AddTargetPortalRequest{TargetPortal: portal})
	noError(t, err)
	_, err = n.ISCSI.DiscoverTargetPortal(t.Context(), &iscsiapi.DiscoverTargetPortalRequest{TargetPortal: portal})
	noError(t, err)
	_, err = n.ISCSI.ConnectTarget(t.Context(),
		&iscsiapi.ConnectTargetRequest{TargetPortal: portal, Iqn: "iqn.2026-01.emulated:open"})
	noError(t, err)
	_, err = n.Filesystem.Mkdir(t.Context(), &filesystemapi.MkdirRequest{Path: pods + `\source`})
	noError(t, err)
	for _, link := range [][2]string{{`link`, pods + `\source`}, {`second`, pods + `\link`}, {`published`, staging}} {
		_, err = n.Filesystem.CreateSymlink(t.Context(),
			&filesystemapi.CreateSymlinkRequest{SourcePath: link[1], TargetPath: pods + `\` + link[0]})
		noError(t, err)
	}
	_, err = n.Volume.MountVolume(t.Context(), &volumeapi.MountVolumeRequest{VolumeId: id, TargetPath: pods + `\mount`})
	noError(t, err)
	_, err = n.SMB.NewSmbGlobalMapping(t.Context(), &smbapi.NewSmbGlobalMappingRequest{
		RemotePath: `\\fs.emulated\share`, LocalPath: pods + `\share`, Username: "csi", Password: "csi-password",
	})
	noError(t, err)
	same(t, "with all in place", settled(t, n), &admin.GetFactsResponse{
		Links: []*admin.Link{volume(staging), to(pods+`\link`, pods+`\source`, pods+`\source`), volume(pods + `\mount`),
			to(pods+`\published`, staging, ""), to(pods+`\second`, pods+`\link`, pods+`\source`), share},
		Mappings: []*admin.SMBMapping{{RemotePath: `\\fs.emulated\share`, Status: "OK"}},
		Sessions: []*admin.ISCSISession{{Target: "iqn.2026-01.emulated:open", Connected: true}},
	})

	_, err = n.Emulated.DetachDisk(1)
	noError(t, err)
	_, err = n.Filesystem.Rmdir(t.Context(), &filesystemapi.RmdirRequest{Path: pods + `\source`})
	noError(t, err)
	noError(t, n.Emulated.SetSwitch("mappingsOutliveReboot", "false"))
	n.Reboot()
	missing := func(l *admin.Link) *admin.Link { l.Missing = true; return l }
	published := to(pods+`\published`, staging, "")
	links := []*admin.Link{missing(volume(staging)), missing(to(pods+`\link`, pods+`\source`, "")),
		missing(volume(pods + `\mount`)), published, missing(to(pods+`\second`, pods+`\link`, "")), missing(share)}
	same(t, "with nothing in place", settled(t, n), &admin.GetFactsResponse{Links: links})
	_, err = n.Volume.UnmountVolume(t.Context(), &volumeapi.UnmountVolumeRequest{VolumeId: id, TargetPath: staging})
	noError(t, err)
	links[3] = to(pods+`\published`, staging, staging)
	same(t, "not mounted", settled(t, n), &admin.GetFactsResponse{Links: links[1:]})
}

func same(t *testing.T, when string, got, want *admin.GetFactsResponse) {
	t.Helper()
	ignored := protocmp.IgnoreFields(&admin.GetFactsResponse{}, "all_links", "working_directories", "limits")
	if diff := cmp.Diff(got, want, protocmp.Transform(), ignored); diff != "" {
		t.Errorf("%s (-got +want):\n%s", when, diff)
	}
}

// TestFactsOfDisks: if that is asked for, the facts name a disk that does not answer, and what an online disk holds that
// has no partition.
func TestFactsOfDisks(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	stage(t, n, pods+`\first`)
	contents := func() []*admin.Disk {
		t.Helper()
		disks := look(t, n, admin.Part_PART_DISKS, admin.Part_PART_CONTENTS).GetDisks()
		return slices.DeleteFunc(disks, func(d *admin.Disk) bool { return d.GetUnknown()+d.GetContent() == "" })
	}
	if got := contents(); len(got) > 0 {
		t.Errorf("in good order: %v", got)
	}
	n.Faults.Add(testnode.Fault{Function: "OpenDevice", Object: "scsi", Times: 1, Error: win32.ERROR_IO_DEVICE})
	if got := contents(); len(got) != 1 || got[0].GetUnknown() == "" || got[0].GetUnanswered() {
		t.Errorf("with a disk that fails: %v", got)
	}
	attach := func(text string) uint32 {
		t.Helper()
		content := make([]byte, 8<<20)
		copy(content, text)
		file := filepath.Join(t.TempDir(), "image")
		noError(t, os.WriteFile(file, content, 0o600))
		number, err := n.Emulated.AttachDisk(bundle.Spec{ImagePath: file, LUNAuto: true})
		noError(t, err)
		return number
	}
	attach("")
	number := attach("a table that was here")
	for range 2 {
		if got := contents(); len(got) != 1 || got[0].GetNumber() != number || got[0].GetContent() == "" {
			t.Errorf("with data on disk %d: %v", number, got)
		}
	}
	_, err := n.Disk.SetDiskState(t.Context(), &diskapi.SetDiskStateRequest{DiskNumber: number, IsOnline: false})
	noError(t, err)
	if got := contents(); len(got) != 0 {
		t.Errorf("offline: %v", got)
	}
	_, err = n.Disk.SetDiskState(t.Context(), &diskapi.SetDiskStateRequest{DiskNumber: number, IsOnline: true})
	noError(t, err)
	for _, d := range look(t, n, admin.Part_PART_DISKS).GetDisks() {
		if d.GetContent() != "" {
			t.Errorf("unasked: %v", d)
		}
	}
}

// TestFactsWhileWindowsHangs: an operation that hangs is shown by its name, and so is one that waits for it.
func TestFactsWhileWindowsHangs(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	id := stage(t, n, pods+`\first`)
	reached, release := n.Faults.Hang("SetVolumeMountPoint")
	defer release()
	ended := make(chan error, 1)
	go func() {
		_, err := n.Volume.MountVolume(t.Context(), &volumeapi.MountVolumeRequest{VolumeId: id, TargetPath: pods + `\second`})
		ended <- err
	}()
	<-reached
	operations := look(t, n).GetOperations()
	if len(operations) != 1 || !strings.Contains(operations[0].GetName(), "MountVolume") || operations[0].GetWaiting() ||
		!operations[0].GetCall() {
		t.Errorf("operations under way: %v, want the mount", operations)
	}
	release()
	noError(t, <-ended)
	operations = settled(t, n).GetOperations()
	if len(operations) != 0 {
		t.Errorf("operations under way when all is over: %v", operations)
	}
}

// TestFactsOfASilentServer: one share of a server that hangs is asked, and all are found to be silent in time.
func TestFactsOfASilentServer(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	const shares = 60
	for i := range shares {
		name := fmt.Sprintf("s%d", i)
		noError(t, n.Emulated.AddSMBShare("fs.emulated", name, nil))
		_, err := n.SMB.NewSmbGlobalMapping(t.Context(), &smbapi.NewSmbGlobalMappingRequest{
			RemotePath: `\\fs.emulated\` + name, LocalPath: pods + `\` + name, Username: "csi", Password: "csi-password",
		})
		noError(t, err)
	}
	n.Faults.Add(testnode.Fault{Function: "OpenFile", Object: "UNC", Hang: true})
	defer n.Faults.Release()
	r := look(t, n, admin.Part_PART_SHARES)
	silent := 0
	for _, m := range r.GetMappings() {
		if m.GetError() != "" {
			silent++
		}
	}
	if silent != shares || len(r.GetGaps()) > 0 {
		t.Errorf("%d of %d shares are silent; not seen: %v", silent, shares, r.GetGaps())
	}
}

// TestPartsThatFail: a part that fails does not hide the others.
func TestPartsThatFail(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	stage(t, n, pods+`\first`)
	_, err := n.Emulated.DetachDisk(1)
	noError(t, err)
	n.Faults.Add(testnode.Fault{Function: "SMBGlobalMappings", Error: win32.ERROR_NOT_READY})
	r := look(t, n)
	if len(r.GetLinks()) != 1 || !r.GetLinks()[0].GetMissing() || len(r.GetGaps()) != 1 ||
		r.GetGaps()[0].GetPart() != "SMB mappings" {
		t.Errorf("links %v, not seen %v; want one of each, about SMB mappings", r.GetLinks(), r.GetGaps())
	}
}
