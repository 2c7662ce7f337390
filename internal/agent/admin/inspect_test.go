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

func inspect(t *testing.T, n *testnode.Node) *admin.InspectResponse {
	t.Helper()
	r, err := n.Admin(t).Inspect(t.Context(), &admin.InspectRequest{})
	noError(t, err)
	return r
}

// settled inspects the node when no operation is running: a caller gets its answer a moment before the operation is
// over.
func settled(t *testing.T, n *testnode.Node) *admin.InspectResponse {
	t.Helper()
	waitCtx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	r := inspect(t, n)
	for len(r.GetOperations()) != 0 && waitCtx.Err() == nil {
		r = inspect(t, n)
	}
	return r
}

// TestInspectFindsDanglingLinks: mount points, links and shares are found once their targets are gone, and not
// before. What is staged, published and connected is shown as it is.
func TestInspectFindsDanglingLinks(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	const staging = `C:\var\lib\kubelet\plugins\kubernetes.io\csi\ebs.csi.aws.com\5f1c\globalmount`
	id := stage(t, n, staging)
	same(t, "staged", settled(t, n),
		&admin.InspectResponse{Unpublished: []*admin.Unpublished{{Path: staging, Target: id}}})
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
	same(t, "with all in place", settled(t, n), &admin.InspectResponse{
		SmbMappings: []*admin.SMBMapping{{RemotePath: `\\fs.emulated\share`, Status: "OK", Link: pods + `\share`}},
		Published: []*admin.Publication{{Path: pods + `\mount`, Target: id}, {Path: pods + `\published`, Target: id},
			{Path: pods + `\share`, Target: `\\fs.emulated\share`}},
		IscsiSessions: []*admin.ISCSISession{{Target: "iqn.2026-01.emulated:open", Connected: true}},
	})

	_, err = n.Emulated.DetachDisk(1)
	noError(t, err)
	_, err = n.Filesystem.Rmdir(t.Context(), &filesystemapi.RmdirRequest{Path: pods + `\source`})
	noError(t, err)
	noError(t, n.Emulated.SetSwitch("mappingsOutliveReboot", "false"))
	n.Reboot()
	links := []*admin.Dangling{
		{Path: pods + `\link`, Target: pods + `\source`, Kind: admin.DanglingKind_DANGLING_KIND_LINK},
		{Path: pods + `\mount`, Target: id, Kind: admin.DanglingKind_DANGLING_KIND_MOUNT_POINT},
		{Path: pods + `\second`, Target: pods + `\link`, Kind: admin.DanglingKind_DANGLING_KIND_LINK},
		{Path: pods + `\share`, Target: `\\fs.emulated\share`, Kind: admin.DanglingKind_DANGLING_KIND_SHARE},
	}
	same(t, "with nothing in place", settled(t, n), &admin.InspectResponse{Dangling: slices.Insert(slices.Clip(links), 0,
		&admin.Dangling{Path: staging, Target: id, Kind: admin.DanglingKind_DANGLING_KIND_MOUNT_POINT})})
	_, err = n.Volume.UnmountVolume(t.Context(), &volumeapi.UnmountVolumeRequest{VolumeId: id, TargetPath: staging})
	noError(t, err)
	same(t, "not mounted", settled(t, n), &admin.InspectResponse{Dangling: slices.Insert(links, 2,
		&admin.Dangling{Path: pods + `\published`, Target: staging, Kind: admin.DanglingKind_DANGLING_KIND_NOT_MOUNTED})})
}

func same(t *testing.T, when string, got, want *admin.InspectResponse) {
	t.Helper()
	ignored := protocmp.IgnoreFields(&admin.InspectResponse{}, "complete", "working_directories")
	if diff := cmp.Diff(got, want, protocmp.Transform(), ignored); diff != "" {
		t.Errorf("%s (-got +want):\n%s", when, diff)
	}
}

// TestInspectOfDisks: if that is asked for, it names a disk that hangs, and one with data in place of its partition table
// while a volume is missing.
func TestInspectOfDisks(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	id := stage(t, n, pods+`\first`)
	thorough := func() *admin.InspectResponse {
		t.Helper()
		r, err := n.Admin(t).Inspect(t.Context(), &admin.InspectRequest{Thorough: true})
		noError(t, err)
		return r
	}
	if r := thorough(); len(r.GetDiskTroubles()) > 0 {
		t.Errorf("in good order: %v", r.GetDiskTroubles())
	}
	n.Faults.Add(testnode.Fault{Function: "OpenDevice", Object: "scsi", Times: 1, Error: win32.ERROR_IO_DEVICE})
	if r := thorough(); len(r.GetDiskTroubles()) != 1 || r.GetDiskTroubles()[0].GetUnreadable() {
		t.Errorf("with a disk that fails: %v, missing %q", r.GetDiskTroubles(), r.GetMissing())
	}
	image, err := n.Emulated.DetachDisk(1)
	noError(t, err)
	content := make([]byte, 8<<20)
	copy(content, "a table that was here")
	file := filepath.Join(t.TempDir(), "image")
	noError(t, os.WriteFile(file, content, 0o600))
	number, err := n.Emulated.AttachDisk(bundle.Spec{ImagePath: file, LUNAuto: true})
	noError(t, err)
	r := thorough()
	if len(r.GetDiskTroubles()) != 1 || !r.GetDiskTroubles()[0].GetUnreadable() ||
		r.GetDiskTroubles()[0].GetDisk() != fmt.Sprintf("disk %d", number) {
		t.Errorf("with a damaged disk in place of %s for %s: %v", image, id, r.GetDiskTroubles())
	}
	if r := inspect(t, n); len(r.GetDiskTroubles()) > 0 {
		t.Errorf("unasked: %v", r.GetDiskTroubles())
	}
}

// TestInspectWhileWindowsHangs: an operation that hangs is shown by its name, and so is one that waits for it.
func TestInspectWhileWindowsHangs(t *testing.T) {
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
	operations := inspect(t, n).GetOperations()
	if len(operations) != 1 || !strings.Contains(operations[0].GetName(), "MountVolume") || operations[0].GetWaiting() {
		t.Errorf("operations under way: %v, want the mount", operations)
	}
	release()
	noError(t, <-ended)
	operations = settled(t, n).GetOperations()
	if len(operations) != 0 {
		t.Errorf("operations under way when all is over: %v", operations)
	}
}

// TestInspectOfASilentServer: one share of a server that hangs is asked, and all are found to be silent in time.
func TestInspectOfASilentServer(t *testing.T) {
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
	r, err := n.Admin(t).Inspect(t.Context(), &admin.InspectRequest{Thorough: true})
	noError(t, err)
	silent := 0
	for _, m := range r.GetSmbMappings() {
		if m.GetError() != "" {
			silent++
		}
	}
	if silent != shares || len(r.GetUnanswered()) > 0 {
		t.Errorf("%d of %d shares are silent; missing %q", silent, shares, r.GetMissing())
	}
}

// TestInspectReportsPartsThatFail: a part that fails does not hide the others.
func TestInspectReportsPartsThatFail(t *testing.T) {
	n := testnode.Start(t, testnode.Options{})
	stage(t, n, pods+`\first`)
	_, err := n.Emulated.DetachDisk(1)
	noError(t, err)
	n.Faults.Add(testnode.Fault{Function: "SMBGlobalMappings", Error: win32.ERROR_NOT_READY})
	r := inspect(t, n)
	if len(r.GetDangling()) != 1 || len(r.GetMissing()) != 1 || !strings.Contains(r.GetMissing()[0], "SMB mappings: ") {
		t.Errorf("dangling %v, missing %q; want one of each, about SMB mappings", r.GetDangling(), r.GetMissing())
	}
}
