// SPDX-License-Identifier: Apache-2.0

package v2_test

import (
	"errors"
	"os"
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

func must(t *testing.T, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// TestVolumeLife takes the steps of a disk driver with a volume from its first pod to the next, each step twice.
func TestVolumeLife(t *testing.T) {
	n, d := begin(t)
	ctx := t.Context()

	ids, err := d.disk.ListDiskIDs(ctx, &disk.ListDiskIDsRequest{})
	must(t, "listing the disks", err)
	if got := *ids.DiskIDs[2]; got != (disk.DiskIDs{Page83: "EMULATED  disk-2", SerialNumber: "vol0123456789abcdef2"}) {
		t.Errorf("disk 2 is %+v", got)
	}
	locations, err := d.disk.ListDiskLocations(ctx, &disk.ListDiskLocationsRequest{})
	must(t, "locating the disks", err)
	if got := *locations.DiskLocations[2]; got != (disk.DiskLocation{Adapter: "0", Bus: "0", Target: "0", LUNID: "2"}) {
		t.Errorf("disk 2 is at %+v", got)
	}

	_, err = d.volume.GetVolumeIDFromTargetPath(ctx, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: staging})
	if !errors.Is(err, csiproxy.ErrNotMounted) {
		t.Errorf("before staging: %v, want ErrNotMounted", err)
	}
	_, err = d.files.Mkdir(ctx, &filesystem.MkdirRequest{Path: `C:\var\lib\kubelet\pods\1234`})
	must(t, "making the directory of the pod", err)
	var id string
	for range 2 {
		id = stage(t, d, 2)
		_, err = d.files.CreateSymlink(ctx, &filesystem.CreateSymlinkRequest{SourcePath: staging, TargetPath: publish})
		must(t, "publishing", err)
	}
	n.WriteFile(publish+`\data`, "precious")

	_, err = d.disk.Rescan(ctx, &disk.RescanRequest{})
	must(t, "rescanning", err)
	n.GrowDisk(2, 24<<30)
	_, err = d.volume.ResizeVolume(ctx, &volume.ResizeVolumeRequest{VolumeID: id})
	must(t, "growing", err)
	size, err := d.disk.GetDiskStats(ctx, &disk.GetDiskStatsRequest{DiskNumber: 2})
	must(t, "size of the disk", err)
	stats, err := d.volume.GetVolumeStats(ctx, &volume.GetVolumeStatsRequest{VolumeID: id})
	must(t, "size of the volume", err)
	if size.TotalBytes != 24<<30 || stats.TotalBytes < 23<<30 || stats.UsedBytes <= 0 {
		t.Errorf("the disk has %d bytes, the volume %+v, want both grown to 24 GiB", size.TotalBytes, stats)
	}

	for _, path := range []string{publish, staging} {
		is, err := d.files.IsSymlink(ctx, &filesystem.IsSymlinkRequest{Path: path})
		must(t, "is it a link", err)
		if !is.IsSymlink {
			t.Errorf("IsSymlink(%s) = false, want true", path)
		}
	}
	for range 2 {
		_, err = d.files.Rmdir(ctx, &filesystem.RmdirRequest{Path: publish, Force: true})
		must(t, "unpublishing", err)
		unstage(t, d, id)
	}
	state, err := d.disk.GetDiskState(ctx, &disk.GetDiskStateRequest{DiskNumber: 2})
	must(t, "state of the disk", err)
	if state.IsOnline {
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
	ctx := t.Context()
	_, err := d.disk.PartitionDisk(ctx, &disk.PartitionDiskRequest{DiskNumber: number})
	must(t, "partitioning", err)
	_, err = d.disk.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: number, IsOnline: true})
	must(t, "bringing online", err)
	volumes, err := d.volume.ListVolumesOnDisk(ctx, &volume.ListVolumesOnDiskRequest{DiskNumber: number,
		PartitionNumber: 2}) // behind the reserved one
	must(t, "listing the volumes", err)
	id = volumes.VolumeIDs[0]
	formatted, err := d.volume.IsVolumeFormatted(ctx, &volume.IsVolumeFormattedRequest{VolumeID: id})
	must(t, "is it formatted", err)
	if !formatted.Formatted {
		_, err = d.volume.FormatVolume(ctx, &volume.FormatVolumeRequest{VolumeID: id})
		must(t, "formatting", err)
	}
	_, err = d.volume.MountVolume(ctx, &volume.MountVolumeRequest{VolumeID: id, TargetPath: staging})
	must(t, "mounting", err)
	mounted, err := d.volume.GetVolumeIDFromTargetPath(ctx, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: staging})
	must(t, "what is mounted", err)
	closest, err := d.volume.GetClosestVolumeIDFromTargetPath(ctx,
		&volume.GetClosestVolumeIDFromTargetPathRequest{TargetPath: staging})
	must(t, "what is mounted closest", err)
	on, err := d.volume.GetDiskNumberFromVolumeID(ctx, &volume.GetDiskNumberFromVolumeIDRequest{VolumeID: id})
	must(t, "which disk", err)
	if mounted.VolumeID != id || closest.VolumeID != id || on.DiskNumber != number {
		t.Errorf("mounted are %s and %s on disk %d, want %s on disk %d", mounted.VolumeID, closest.VolumeID,
			on.DiskNumber, id, number)
	}
	return id
}

// unstage unmounts the volume.
func unstage(t *testing.T, d driver, id string) {
	t.Helper()
	ctx := t.Context()
	_, err := d.volume.GetVolumeIDFromTargetPath(ctx, &volume.GetVolumeIDFromTargetPathRequest{TargetPath: staging})
	if errors.Is(err, csiproxy.ErrNotMounted) {
		return // done before
	}
	must(t, "what is mounted", err)
	_, err = d.volume.UnmountVolume(ctx, &volume.UnmountVolumeRequest{VolumeID: id, TargetPath: staging})
	must(t, "unmounting", err)
	_, err = d.files.Rmdir(ctx, &filesystem.RmdirRequest{Path: staging, Force: true})
	must(t, "removing the staging directory", err)
	on, err := d.volume.GetDiskNumberFromVolumeID(ctx, &volume.GetDiskNumberFromVolumeIDRequest{VolumeID: id})
	must(t, "which disk", err)
	_, err = d.volume.WriteVolumeCache(ctx, &volume.WriteVolumeCacheRequest{VolumeID: id})
	must(t, "flushing", err)
	_, err = d.disk.SetDiskState(ctx, &disk.SetDiskStateRequest{DiskNumber: on.DiskNumber})
	must(t, "taking offline", err)
}

// TestShareLife takes a share through an SMB driver's life.
func TestShareLife(t *testing.T) {
	n, d := begin(t)
	ctx := t.Context()
	valid := func() bool {
		t.Helper()
		r, err := d.files.PathValid(ctx, &filesystem.PathValidRequest{Path: share})
		must(t, "is the share reached", err)
		return r.Valid
	}
	request := &smb.NewSMBGlobalMappingRequest{RemotePath: share, LocalPath: publish, Username: "csi", Password: "wrong"}
	_, err := d.files.Mkdir(ctx, &filesystem.MkdirRequest{Path: `C:\var\lib\kubelet\pods\1234`})
	must(t, "making the directory of the pod", err)
	if _, err := d.smb.NewSMBGlobalMapping(ctx, request); !errors.Is(err, csiproxy.ErrCredentials) || valid() {
		t.Errorf("a wrong password: %v, want ErrCredentials, and nothing mapped", err)
	}
	request.Password = "csi-password"
	for range 2 {
		_, err = d.smb.NewSMBGlobalMapping(ctx, request)
		must(t, "mapping", err)
	}
	if got := n.Readlink(publish); got != share+`\` || !valid() {
		t.Errorf("the link leads to %s, want %s\\", got, share)
	}
	n.WriteFile(publish+`\data`, "shared")
	_, err = d.files.Rmdir(ctx, &filesystem.RmdirRequest{Path: publish, Force: true})
	must(t, "removing the link", err)
	_, err = d.files.RmdirContents(ctx, &filesystem.RmdirContentsRequest{Path: `C:\var\lib\kubelet\pods`})
	must(t, "removing the directory of the pod", err)
	exists, err := d.files.PathExists(ctx, &filesystem.PathExistsRequest{Path: `C:\var\lib\kubelet\pods\1234`})
	must(t, "is the directory there", err)
	if exists.Exists {
		t.Error("the directory of the pod is still there")
	}
	for range 2 {
		_, err = d.smb.RemoveSMBGlobalMapping(ctx, &smb.RemoveSMBGlobalMappingRequest{RemotePath: share})
		must(t, "unmapping", err)
	}
	if valid() {
		t.Error("the share is still mapped")
	}
}

// TestTargetLife takes a target through an iSCSI driver's life.
func TestTargetLife(t *testing.T) {
	_, d := begin(t)
	ctx := t.Context()
	portal := &iscsi.TargetPortal{TargetAddress: "192.0.2.10"}
	const target = "iqn.2026-01.emulated:mutual"
	_, err := d.iscsi.AddTargetPortal(ctx, &iscsi.AddTargetPortalRequest{TargetPortal: portal})
	must(t, "adding the portal", err)
	portals, err := d.iscsi.ListTargetPortals(ctx, &iscsi.ListTargetPortalsRequest{})
	must(t, "listing the portals", err)
	if len(portals.TargetPortals) != 1 ||
		*portals.TargetPortals[0] != (iscsi.TargetPortal{TargetAddress: "192.0.2.10", TargetPort: 3260}) {
		t.Errorf("portals: %+v", portals.TargetPortals)
	}
	found, err := d.iscsi.DiscoverTargetPortal(ctx, &iscsi.DiscoverTargetPortalRequest{TargetPortal: portal})
	must(t, "discovering", err)
	if len(found.IQNs) != 3 {
		t.Errorf("found %q, want three targets", found.IQNs)
	}
	_, err = d.iscsi.SetMutualChapSecret(ctx, &iscsi.SetMutualChapSecretRequest{MutualChapSecret: "mutual-secret1"})
	must(t, "setting the secret", err)
	_, err = d.iscsi.ConnectTarget(ctx, &iscsi.ConnectTargetRequest{
		TargetPortal: portal, IQN: target, AuthType: iscsi.MUTUAL_CHAP, ChapUsername: "csi-user",
		ChapSecret: "chap-secret-123",
	})
	must(t, "logging in", err)
	disks, err := d.iscsi.GetTargetDisks(ctx, &iscsi.GetTargetDisksRequest{TargetPortal: portal, IQN: target})
	must(t, "asking for the disks", err)
	if len(disks.DiskIDs) != 1 || disks.DiskIDs[0] != "3" {
		t.Errorf("the target's disks are %q, want 3", disks.DiskIDs)
	}
	stage(t, d, 3)
	_, err = d.files.Rmdir(ctx, &filesystem.RmdirRequest{Path: staging, Force: true})
	must(t, "unmounting", err)
	_, err = d.iscsi.DisconnectTarget(ctx, &iscsi.DisconnectTargetRequest{TargetPortal: portal, IQN: target})
	must(t, "logging out", err)
	_, err = d.iscsi.RemoveTargetPortal(ctx, &iscsi.RemoveTargetPortalRequest{TargetPortal: portal})
	must(t, "removing the portal", err)
}

func TestSystem(t *testing.T) {
	_, d := begin(t)
	ctx := t.Context()
	serial, err := d.system.GetBIOSSerialNumber(ctx, &system.GetBIOSSerialNumberRequest{})
	must(t, "reading the serial number", err)
	if serial.SerialNumber != "EMU-0000-0001" {
		t.Errorf("the serial number is %q", serial.SerialNumber)
	}
	state := func() system.GetServiceResponse {
		t.Helper()
		r, err := d.system.GetService(ctx, &system.GetServiceRequest{Name: "Spooler"})
		must(t, "asking for the service", err)
		return *r
	}
	stopped := system.GetServiceResponse{DisplayName: "Spooler", StartType: system.START_TYPE_MANUAL,
		Status: system.SERVICE_STATUS_STOPPED}
	running := stopped
	running.Status = system.SERVICE_STATUS_RUNNING
	if got := state(); got != stopped {
		t.Errorf("the service is %+v, want %+v", got, stopped)
	}
	_, err = d.system.StartService(ctx, &system.StartServiceRequest{Name: "Spooler"})
	must(t, "starting", err)
	if got := state(); got != running {
		t.Errorf("the service is %+v, want %+v", got, running)
	}
	_, err = d.system.StopService(ctx, &system.StopServiceRequest{Name: "Spooler"})
	must(t, "stopping", err)
	if got := state(); got != stopped {
		t.Errorf("the service is %+v, want %+v", got, stopped)
	}
	if r, err := d.system.GetService(ctx, &system.GetServiceRequest{Name: "none"}); r == nil ||
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
	_, err := attributes.SetDiskReadOnly(ctx, &disk.SetDiskReadOnlyRequest{DiskNumber: 1})
	must(t, "making disk 1 writable", err)
	for _, found := range n.Tree().GetDisks() {
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

// TestServiceInfoInWords: a HostAPI has the words of WMI, and the group the numbers.
func TestServiceInfoInWords(t *testing.T) {
	n := csiproxytest.Start(t, csiproxytest.Options{})
	info, err := systemapi.FromClient(n.Client()).GetService("Spooler")
	must(t, "asking for a service", err)
	if info.StartType != "Manual" || info.Status != "Stopped" {
		t.Errorf("the HostAPI says %+v", info)
	}
	r, err := newDriver(t, n.Client()).system.GetService(t.Context(), &system.GetServiceRequest{Name: "Spooler"})
	must(t, "asking for a service", err)
	older := func(start system.Startype) bool { return start == system.START_TYPE_MANUAL } // in terms of v2.0.0-alpha.1
	if !older(r.StartType) || r.Status != system.SERVICE_STATUS_STOPPED {
		t.Errorf("the group says %+v", r)
	}
}
