// SPDX-License-Identifier: Apache-2.0

package v2_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/machine"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/disk"
	diskapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/smb"
	smbapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/smb/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/system"
	systemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/system/hostapi"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/volume"
	volumeapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/volume/hostapi"
)

const (
	staging = `C:\var\lib\kubelet\plugins\kubernetes.io\csi\example\globalmount`
	publish = `C:\var\lib\kubelet\pods\1234\mount`
	share   = `\\fs.emulated\share`
)

// driver holds the groups, as a driver makes them at its start.
type driver struct {
	disk   disk.Interface
	files  filesystem.Interface
	iscsi  iscsi.Interface
	smb    smb.Interface
	system system.Interface
	volume volume.Interface
}

func newDriver(t *testing.T, c *csiproxy.Client) driver {
	t.Helper()
	return driverOf(t, diskapi.FromClient(c), filesystemapi.FromClient(c), iscsiapi.FromClient(c), smbapi.FromClient(c),
		systemapi.FromClient(c), volumeapi.FromClient(c))
}

func driverOf(t *testing.T, d diskapi.HostAPI, f filesystemapi.HostAPI, i iscsiapi.HostAPI, m smbapi.HostAPI,
	s systemapi.HostAPI, v volumeapi.HostAPI) driver {
	t.Helper()
	var (
		all  driver
		errs [6]error
	)
	all.disk, errs[0] = disk.New(d)
	all.files, errs[1] = filesystem.New(f)
	all.iscsi, errs[2] = iscsi.New(i)
	all.smb, errs[3] = smb.New(m, all.files)
	all.system, errs[4] = system.New(s)
	all.volume, errs[5] = volume.New(v)
	must(t, "making the groups", errors.Join(errs[:]...))
	return all
}

// begin starts a node with a driver: through a client of the node or, in the process that TestOverAgent starts, through
// New.
func begin(t *testing.T) (*csiproxytest.Node, driver) {
	t.Helper()
	if os.Getenv(machine.HostAPIVariable) == "" {
		n := csiproxytest.Start(t, csiproxytest.Options{})
		return n, newDriver(t, n.Client())
	}
	n := csiproxytest.Start(t, csiproxytest.Options{PlainPipes: true})
	n.Setenv()
	return n, driverOf(t, diskapi.New(), filesystemapi.New(), iscsiapi.New(), smbapi.New(),
		systemapi.New(), volumeapi.New())
}

// ok makes a call, which must succeed.
func ok[Q, A any](t *testing.T, call func(context.Context, *Q) (*A, error), request *Q) *A {
	t.Helper()
	answer, err := call(t.Context(), request)
	must(t, fmt.Sprintf("%T", request), err)
	return answer
}

func must(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// TestVolumeLife takes the steps of a disk driver with a volume from its first pod to the next, each step twice.
func TestVolumeLife(t *testing.T) {
	n, d := begin(t)
	ids := ok(t, d.disk.ListDiskIDs, &disk.ListDiskIDsRequest{})
	if got := *ids.DiskIDs[2]; got != (disk.DiskIDs{Page83: "EMULATED  disk-2", SerialNumber: "vol0123456789abcdef2"}) {
		t.Errorf("disk 2 is %+v", got)
	}
	locations := ok(t, d.disk.ListDiskLocations, &disk.ListDiskLocationsRequest{})
	if got := *locations.DiskLocations[2]; got != (disk.DiskLocation{Adapter: "0", Bus: "0", Target: "0", LUNID: "2"}) {
		t.Errorf("disk 2 is at %+v", got)
	}

	if _, err := d.volume.GetVolumeIDFromTargetPath(t.Context(),
		&volume.GetVolumeIDFromTargetPathRequest{TargetPath: staging}); !errors.Is(err, csiproxy.ErrNotMounted) {
		t.Errorf("before staging: %v, want ErrNotMounted", err)
	}
	ok(t, d.files.Mkdir, &filesystem.MkdirRequest{Path: `C:\var\lib\kubelet\pods\1234`})
	var id string
	for range 2 {
		id = stage(t, d, 2)
		ok(t, d.files.CreateSymlink, &filesystem.CreateSymlinkRequest{SourcePath: staging, TargetPath: publish})
	}
	n.WriteFile(publish+`\data`, "precious")

	ok(t, d.disk.Rescan, &disk.RescanRequest{})
	n.GrowDisk(2, 24<<30)
	ok(t, d.volume.ResizeVolume, &volume.ResizeVolumeRequest{VolumeID: id})
	size := ok(t, d.disk.GetDiskStats, &disk.GetDiskStatsRequest{DiskNumber: 2})
	stats := ok(t, d.volume.GetVolumeStats, &volume.GetVolumeStatsRequest{VolumeID: id})
	if size.TotalBytes != 24<<30 || stats.TotalBytes < 23<<30 || stats.UsedBytes <= 0 {
		t.Errorf("the disk has %d bytes, the volume %+v, want both grown to 24 GiB", size.TotalBytes, stats)
	}

	for _, path := range []string{publish, staging} {
		if !ok(t, d.files.IsSymlink, &filesystem.IsSymlinkRequest{Path: path}).IsSymlink {
			t.Errorf("IsSymlink(%s) = false, want true", path)
		}
	}
	for range 2 {
		ok(t, d.files.Rmdir, &filesystem.RmdirRequest{Path: publish, Force: true})
		unstage(t, d, id)
	}
	if ok(t, d.disk.GetDiskState, &disk.GetDiskStateRequest{DiskNumber: 2}).IsOnline {
		t.Error("the disk is online after unstaging")
	}

	if again := stage(t, d, 2); again != id {
		t.Errorf("the volume came back as %s and was %s", again, id)
	}
	if got := n.ReadFile(staging + `\data`); got != "precious" {
		t.Errorf("the volume came back with %q", got)
	}
}

// stage mounts a disk's volume at the staging directory.
func stage(t *testing.T, d driver, number uint32) (id string) {
	t.Helper()
	ok(t, d.disk.PartitionDisk, &disk.PartitionDiskRequest{DiskNumber: number})
	ok(t, d.disk.SetDiskState, &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: true})
	id = ok(t, d.volume.ListVolumesOnDisk, &volume.ListVolumesOnDiskRequest{DiskNumber: number,
		PartitionNumber: 2}).VolumeIDs[0] // behind the reserved one
	if !ok(t, d.volume.IsVolumeFormatted, &volume.IsVolumeFormattedRequest{VolumeID: id}).Formatted {
		ok(t, d.volume.FormatVolume, &volume.FormatVolumeRequest{VolumeID: id})
	}
	ok(t, d.volume.MountVolume, &volume.MountVolumeRequest{VolumeID: id, TargetPath: staging})
	mounted := ok(t, d.volume.GetVolumeIDFromTargetPath, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: staging})
	closest := ok(t, d.volume.GetClosestVolumeIDFromTargetPath,
		&volume.GetClosestVolumeIDFromTargetPathRequest{TargetPath: staging})
	on := ok(t, d.volume.GetDiskNumberFromVolumeID, &volume.GetDiskNumberFromVolumeIDRequest{VolumeID: id})
	if mounted.VolumeID != id || closest.VolumeID != id || on.DiskNumber != number {
		t.Errorf("mounted are %s and %s on disk %d, want %s on disk %d", mounted.VolumeID, closest.VolumeID,
			on.DiskNumber, id, number)
	}
	return id
}

// unstage unmounts the volume.
func unstage(t *testing.T, d driver, id string) {
	t.Helper()
	_, err := d.volume.GetVolumeIDFromTargetPath(t.Context(),
		&volume.GetVolumeIDFromTargetPathRequest{TargetPath: staging})
	if errors.Is(err, csiproxy.ErrNotMounted) {
		return // done before
	}
	must(t, "what is mounted", err)
	ok(t, d.volume.UnmountVolume, &volume.UnmountVolumeRequest{VolumeID: id, TargetPath: staging})
	ok(t, d.files.Rmdir, &filesystem.RmdirRequest{Path: staging, Force: true})
	on := ok(t, d.volume.GetDiskNumberFromVolumeID, &volume.GetDiskNumberFromVolumeIDRequest{VolumeID: id})
	ok(t, d.volume.WriteVolumeCache, &volume.WriteVolumeCacheRequest{VolumeID: id})
	ok(t, d.disk.SetDiskState, &disk.SetDiskStateRequest{DiskNumber: on.DiskNumber})
}

// TestShareLife takes a share through an SMB driver's life.
func TestShareLife(t *testing.T) {
	n, d := begin(t)
	valid := func() bool {
		t.Helper()
		return ok(t, d.files.PathValid, &filesystem.PathValidRequest{Path: share}).Valid
	}
	request := &smb.NewSMBGlobalMappingRequest{RemotePath: share, LocalPath: publish, Username: "csi", Password: "wrong"}
	ok(t, d.files.Mkdir, &filesystem.MkdirRequest{Path: `C:\var\lib\kubelet\pods\1234`})
	if _, err := d.smb.NewSMBGlobalMapping(t.Context(), request); !errors.Is(err, csiproxy.ErrCredentials) || valid() {
		t.Errorf("a wrong password: %v, want ErrCredentials, and nothing mapped", err)
	}
	request.Password = "csi-password"
	for range 2 {
		ok(t, d.smb.NewSMBGlobalMapping, request)
	}
	if got := n.Readlink(publish); got != share+`\` || !valid() {
		t.Errorf("the link leads to %s, want %s\\", got, share)
	}
	n.WriteFile(publish+`\data`, "shared")
	ok(t, d.files.Rmdir, &filesystem.RmdirRequest{Path: publish, Force: true})
	ok(t, d.files.RmdirContents, &filesystem.RmdirContentsRequest{Path: `C:\var\lib\kubelet\pods`})
	if ok(t, d.files.PathExists, &filesystem.PathExistsRequest{Path: `C:\var\lib\kubelet\pods\1234`}).Exists {
		t.Error("the directory of the pod is still there")
	}
	for range 2 {
		ok(t, d.smb.RemoveSMBGlobalMapping, &smb.RemoveSMBGlobalMappingRequest{RemotePath: share})
	}
	if valid() {
		t.Error("the share is still mapped")
	}
}

// TestTargetLife takes a target through an iSCSI driver's life.
func TestTargetLife(t *testing.T) {
	_, d := begin(t)
	portal := &iscsi.TargetPortal{TargetAddress: "192.0.2.10"}
	const target = "iqn.2026-01.emulated:mutual"
	ok(t, d.iscsi.AddTargetPortal, &iscsi.AddTargetPortalRequest{TargetPortal: portal})
	portals := ok(t, d.iscsi.ListTargetPortals, &iscsi.ListTargetPortalsRequest{}).TargetPortals
	if len(portals) != 1 || *portals[0] != (iscsi.TargetPortal{TargetAddress: "192.0.2.10", TargetPort: 3260}) {
		t.Errorf("portals: %+v", portals)
	}
	found := ok(t, d.iscsi.DiscoverTargetPortal, &iscsi.DiscoverTargetPortalRequest{TargetPortal: portal}).IQNs
	if len(found) != 3 {
		t.Errorf("found %q, want three targets", found)
	}
	ok(t, d.iscsi.SetMutualChapSecret, &iscsi.SetMutualChapSecretRequest{MutualChapSecret: "mutual-secret1"})
	ok(t, d.iscsi.ConnectTarget, &iscsi.ConnectTargetRequest{TargetPortal: portal, IQN: target,
		AuthType: iscsi.MUTUAL_CHAP, ChapUsername: "csi-user", ChapSecret: "chap-secret-123"})
	disks := ok(t, d.iscsi.GetTargetDisks, &iscsi.GetTargetDisksRequest{TargetPortal: portal, IQN: target}).DiskIDs
	if !slices.Equal(disks, []string{"3"}) {
		t.Errorf("the target's disks are %q, want 3", disks)
	}
	stage(t, d, 3)
	ok(t, d.files.Rmdir, &filesystem.RmdirRequest{Path: staging, Force: true})
	ok(t, d.iscsi.DisconnectTarget, &iscsi.DisconnectTargetRequest{TargetPortal: portal, IQN: target})
	ok(t, d.iscsi.RemoveTargetPortal, &iscsi.RemoveTargetPortalRequest{TargetPortal: portal})
}

func TestSystem(t *testing.T) {
	_, d := begin(t)
	serial := ok(t, d.system.GetBIOSSerialNumber, &system.GetBIOSSerialNumberRequest{}).SerialNumber
	if serial != "EMU-0000-0001" {
		t.Errorf("the serial number is %q", serial)
	}
	is := func(status system.ServiceStatus) {
		t.Helper()
		want := system.GetServiceResponse{DisplayName: "Spooler", StartType: system.START_TYPE_MANUAL, Status: status}
		if got := *ok(t, d.system.GetService, &system.GetServiceRequest{Name: "Spooler"}); got != want {
			t.Errorf("the service is %+v, want %+v", got, want)
		}
	}
	is(system.SERVICE_STATUS_STOPPED)
	ok(t, d.system.StartService, &system.StartServiceRequest{Name: "Spooler"})
	is(system.SERVICE_STATUS_RUNNING)
	ok(t, d.system.StopService, &system.StopServiceRequest{Name: "Spooler"})
	is(system.SERVICE_STATUS_STOPPED)
	if r, err := d.system.GetService(t.Context(), &system.GetServiceRequest{Name: "none"}); r == nil ||
		!errors.Is(err, csiproxy.ErrServiceNotFound) {
		t.Errorf("no such service: %v, %v, want a response and ErrServiceNotFound", r, err)
	}
}

// TestReadOnlyOverAClient: the API makes a disk writable with its state; for anything else it has no call, which the
// error says.
func TestReadOnlyOverAClient(t *testing.T) {
	n, d := begin(t)
	ctx := t.Context()
	attributes := d.disk.(disk.ReadOnly)
	n.SetDiskReadOnly(1, true)
	ok(t, attributes.SetDiskReadOnly, &disk.SetDiskReadOnlyRequest{DiskNumber: 1})
	for _, found := range n.Facts().GetDisks() {
		if found.GetNumber() == 1 && (found.GetReadOnly() || !found.GetOnline()) {
			t.Errorf("disk 1 is %v", found)
		}
	}
	for _, request := range []disk.SetDiskReadOnlyRequest{{DiskNumber: 1, IsReadOnly: true}, {DiskNumber: 2}} {
		if _, err := attributes.SetDiskReadOnly(ctx, &request); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("%+v: %v, want ErrUnsupported", request, err)
		}
	}
	if _, err := attributes.GetDiskReadOnly(ctx, &disk.GetDiskReadOnlyRequest{DiskNumber: 1}); !errors.Is(err,
		errors.ErrUnsupported) {
		t.Errorf("GetDiskReadOnly: %v, want ErrUnsupported", err)
	}
}
