// SPDX-License-Identifier: Apache-2.0

package v2_test

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	iscsiv1alpha2 "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
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

// TestPartitionStepByStep: a driver that takes the steps of PartitionDisk one by one succeeds.
func TestPartitionStepByStep(t *testing.T) {
	n := csiproxytest.Start(t, csiproxytest.Options{})
	d := diskapi.FromClient(n.Client())
	steps := func(number uint32, initialized, partitioned bool) {
		t.Helper()
		if got, err := d.IsDiskInitialized(number); got != initialized || err != nil {
			t.Errorf("IsDiskInitialized(%d) = %t, %v, want %t", number, got, err, initialized)
		}
		if got, err := d.BasicPartitionsExist(number); got != partitioned || err != nil {
			t.Errorf("BasicPartitionsExist(%d) = %t, %v, want %t", number, got, err, partitioned)
		}
	}
	steps(1, false, false)
	must(t, "initializing", d.InitializeDisk(1))
	must(t, "partitioning", d.CreateBasicPartition(1))
	steps(1, true, true)

	// The partitions of an offline disk are not visible, and the disk must not be mistaken for a raw one.
	must(t, "taking offline", d.SetDiskState(1, false))
	for name, ask := range map[string]func(uint32) (bool, error){"IsDiskInitialized": d.IsDiskInitialized,
		"BasicPartitionsExist": d.BasicPartitionsExist} {
		if got, err := ask(1); got || !errors.Is(err, csiproxy.ErrDiskOffline) {
			t.Errorf("%s of an offline disk = %t, %v, want ErrDiskOffline", name, got, err)
		}
	}
	if _, err := d.IsDiskInitialized(77); !errors.Is(err, csiproxy.ErrDiskNotFound) {
		t.Errorf("IsDiskInitialized(77): %v, want ErrDiskNotFound", err)
	}
	foreign := n.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, Formatted: true})
	must(t, "initializing a disk in use", d.InitializeDisk(foreign))
	steps(foreign, true, true)
}

func TestGetDiskNumberWithID(t *testing.T) {
	d := diskapi.FromClient(csiproxytest.Start(t, csiproxytest.Options{}).Client())
	if number, err := d.GetDiskNumberWithID("EMULATED  disk-2"); number != 2 || err != nil {
		t.Errorf("got %d, %v, want 2", number, err)
	}
	for _, id := range []string{"", "disk-2", "emulated  disk-2"} {
		if number, err := d.GetDiskNumberWithID(id); err == nil {
			t.Errorf("the disk with the identifier %q is %d", id, number)
		}
	}
}

// TestMapStepByStep: a driver that takes the steps of NewSMBGlobalMapping one by one succeeds.
func TestMapStepByStep(t *testing.T) {
	n := csiproxytest.Start(t, csiproxytest.Options{})
	client := n.Client()
	s, files := smbapi.FromClient(client), filesystemapi.FromClient(client)
	const link = `C:\var\lib\kubelet\pods\link`
	reached := func(want bool) {
		t.Helper()
		if got, err := s.IsSMBMapped(share); got != want || err != nil {
			t.Errorf("IsSMBMapped = %t, %v, want %t", got, err, want)
		}
		if got, err := files.PathValid(share + `\dir`); got != want || err != nil {
			t.Errorf("PathValid = %t, %v, want %t", got, err, want)
		}
	}
	reached(false)
	if err := s.NewSMBLink(share, link); !errors.Is(err, csiproxy.ErrCredentials) {
		t.Errorf("a link to a share that is not mapped: %v, want ErrCredentials", err)
	}
	must(t, "mapping", s.NewSMBGlobalMapping(share, "csi", "csi-password"))
	reached(true)
	must(t, "linking", s.NewSMBLink(share+`\`, link))
	if got := n.Readlink(link); got != share+`\` {
		t.Errorf("the link leads to %s", got)
	}
	if valid, err := files.PathValid(link); !valid || err != nil {
		t.Errorf("PathValid(%s) = %t, %v, want true", link, valid, err)
	}

	// A share that pods wait for is not unmapped because its server does not answer.
	n.StopSMBServer("fs.emulated")
	if got, err := s.IsSMBMapped(share); got || status.Code(err) != codes.Unavailable {
		t.Errorf("IsSMBMapped without a server = %t, %v, want Unavailable", got, err)
	}
	n.StartSMBServer("fs.emulated")
	reached(true)
	must(t, "unmapping", s.RemoveSMBGlobalMapping(share))
	reached(false)
}

// TestOwnPolicy: our HostAPI has the node's path policy, through the groups and without them.
func TestOwnPolicy(t *testing.T) {
	host := filesystemapi.FromClient(csiproxytest.Start(t, csiproxytest.Options{}).Client())
	files, err := filesystem.New(host)
	must(t, "making the group", err)
	const outside = `C:\Windows\x`
	if _, err := files.Mkdir(t.Context(), &filesystem.MkdirRequest{Path: outside}); !errors.Is(err,
		csiproxy.ErrOutsideWorkingDirs) {
		t.Errorf("Mkdir(%s): %v, want ErrOutsideWorkingDirs", outside, err)
	}
	if err := host.RmdirContents(outside); !errors.Is(err, csiproxy.ErrOutsideWorkingDirs) {
		t.Errorf("RmdirContents(%s): %v, want ErrOutsideWorkingDirs", outside, err)
	}
	const dir = `\var\lib\kubelet\pods\a` // kubelet's staging paths have no drive
	must(t, "making a directory", host.Mkdir(dir+`\b`))
	must(t, "emptying it", host.RmdirContents(dir))
	if exists, err := host.PathExists(dir + `\b`); exists || err != nil {
		t.Errorf("PathExists = %t, %v, want false", exists, err)
	}
	must(t, "removing it", host.Rmdir(dir, false))
	if err := host.Rmdir(dir, false); !errors.Is(err, csiproxy.ErrPathNotFound) {
		t.Errorf("removing it again: %v, want ErrPathNotFound", err)
	}
}

func TestInitiatorRefuses(t *testing.T) {
	i := iscsiapi.FromClient(csiproxytest.Start(t, csiproxytest.Options{}).Client())
	portal := &iscsiapi.TargetPortal{Address: "192.0.2.10"}
	if err := i.ConnectTarget(portal, "iqn.2026-01.emulated:open", "CHAP", "", ""); status.Code(
		err) != codes.InvalidArgument {
		t.Errorf("an unknown kind of authentication: %v, want InvalidArgument", err)
	}
	if err := i.AddTargetPortal(nil); status.Code(err) != codes.InvalidArgument {
		t.Errorf("no portal: %v, want InvalidArgument", err)
	}
}

// recorder is a connection that keeps the last request.
type recorder struct{ request any }

func (r *recorder) Invoke(_ context.Context, _ string, request, _ any, _ ...grpc.CallOption) error {
	r.request = request
	return nil
}

func (*recorder) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, errors.ErrUnsupported
}

// TestAuthentication: a login requests the authentication that the driver chose; most targets would accept less.
func TestAuthentication(t *testing.T) {
	r := &recorder{}
	for name, want := range map[string]string{"NONE": "NONE", "ONEWAYCHAP": "ONE_WAY_CHAP", "MUTUALCHAP": "MUTUAL_CHAP"} {
		must(t, "logging in", iscsiapi.FromClient(csiproxy.Over(r)).ConnectTarget(&iscsiapi.TargetPortal{}, "iqn",
			name, "user", "secret"))
		if got := r.request.(*iscsiv1alpha2.ConnectTargetRequest).GetAuthType().String(); got != want {
			t.Errorf("%s becomes %s, want %s", name, got, want)
		}
	}
}

// TestInProcess: the groups on a node in this process, as New provides on Windows.
func TestInProcess(t *testing.T) {
	d := newDriver(t, csiproxytest.Start(t, csiproxytest.Options{}).InProcess())
	id := stage(t, d, 1)
	if again := stage(t, d, 1); again != id {
		t.Errorf("staging again gave %s, not %s", again, id)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := d.disk.Rescan(ended, &disk.RescanRequest{}); status.Code(err) != codes.Canceled {
		t.Errorf("a call of a context that is over: %v, want Canceled", err)
	}
}

// TestNoClient: a test that forgot its client does not touch the machine that it runs on.
func TestNoClient(t *testing.T) {
	for group, err := range calls(diskapi.FromClient(nil), filesystemapi.FromClient(nil), iscsiapi.FromClient(nil),
		smbapi.FromClient(nil),
		systemapi.FromClient(nil), volumeapi.FromClient(nil)) {
		if err == nil || err.Error() != "hostapi.FromClient needs a client" {
			t.Errorf("%s: %v, want an error that says so", group, err)
		}
	}
}

// calls makes a call to each group.
func calls(d diskapi.HostAPI, f filesystemapi.HostAPI, i iscsiapi.HostAPI, m smbapi.HostAPI, s systemapi.HostAPI,
	v volumeapi.HostAPI) map[string]error {
	return map[string]error{
		"disk": d.Rescan(), "filesystem": f.Mkdir(staging), "iscsi": failure(i.ListTargetPortals()),
		"smb": m.RemoveSMBGlobalMapping(share), "system": failure(s.GetBIOSSerialNumber()), "volume": v.FormatVolume("v"),
	}
}

// TestNewNeedsAHostAPI: no group is made without a machine.
func TestNewNeedsAHostAPI(t *testing.T) {
	for group, err := range map[string]error{"disk": failure(disk.New(nil)), "filesystem": failure(filesystem.New(nil)),
		"iscsi": failure(iscsi.New(nil)), "smb": failure(smb.New(nil, nil)), "system": failure(system.New(nil)),
		"volume": failure(volume.New(nil))} {
		if err == nil {
			t.Errorf("%s.New(nil) succeeds", group)
		}
	}
}

func failure[T any](_ T, err error) error { return err }

func TestVolumeRegexp(t *testing.T) {
	const id = `\\?\Volume{403364da-4023-43f3-9091-bd46b07bdf16}\`
	if got, want := volumeapi.VolumeRegexp.FindString(id), "Volume{403364da-4023-43f3-9091-bd46b07bdf16}"; got != want {
		t.Errorf("in %s VolumeRegexp finds %q, want %q", id, got, want)
	}
}
