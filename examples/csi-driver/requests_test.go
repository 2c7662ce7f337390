// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/csisanity"
	"github.com/kubernetes-csi/csi-proxy/mounter"
	"github.com/kubernetes-csi/csi-proxy/mounter/csicode"
)

const (
	staging = `C:\var\lib\kubelet\plugins\kubernetes.io\csi\windows.csi.example.com\0f3a\globalmount`
	publish = `C:\var\lib\kubelet\pods\6b0a\volumes\kubernetes.io~csi\pv\mount`
)

// start starts the plugin on a node and connects to it.
func start(t *testing.T) (*csiproxytest.Node, csi.NodeClient) {
	t.Helper()
	n := csiproxytest.Start(t, csiproxytest.Options{})
	address := csisanity.Serve(t, newDriver(mounter.New(n.Client()), "node-1").register,
		grpc.UnaryInterceptor(csicode.Interceptor))
	connection, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	return n, csi.NewNodeClient(connection)
}

// TestRefusals: what cannot be done is refused with the code that the specification asks for, which says whether
// kubelet may take the operation for ended, and with the agent's reason.
func TestRefusals(t *testing.T) {
	n, plugin := start(t)
	n.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: "vol0123abc"})
	n.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: "vol0123abc"})
	stage := func(edit func(*csi.NodeStageVolumeRequest)) error {
		r := &csi.NodeStageVolumeRequest{VolumeId: "vol-0123456789abcdef1", StagingTargetPath: staging,
			VolumeCapability: capability()}
		edit(r)
		_, err := plugin.NodeStageVolume(t.Context(), r)
		return err
	}
	share := func(remote, password string) func(*csi.NodeStageVolumeRequest) {
		return func(r *csi.NodeStageVolumeRequest) {
			r.VolumeContext = map[string]string{"source": remote}
			r.Secrets = map[string]string{"username": "csi", "password": password}
		}
	}
	for name, test := range map[string]struct {
		edit func(*csi.NodeStageVolumeRequest)
		code codes.Code
		text string
	}{
		"raw block": {func(r *csi.NodeStageVolumeRequest) {
			r.VolumeCapability.AccessType = &csi.VolumeCapability_Block{Block: &csi.VolumeCapability_BlockVolume{}}
		}, codes.InvalidArgument, "volumeMode Filesystem"},
		"ext4": {func(r *csi.NodeStageVolumeRequest) { r.VolumeCapability.GetMount().FsType = "ext4" },
			codes.InvalidArgument, "NTFS"},
		"a LUN": {func(r *csi.NodeStageVolumeRequest) { r.PublishContext = map[string]string{"lun": "one"} },
			codes.InvalidArgument, `LUN "one"`},
		"two disks": {func(r *csi.NodeStageVolumeRequest) { r.VolumeId = "vol-0123abc" }, codes.FailedPrecondition,
			"several disks match"},
		"another place": {func(r *csi.NodeStageVolumeRequest) { r.StagingTargetPath = `C:\Windows` }, codes.InvalidArgument,
			"working directories"},
		"a password":    {share(`\\fs.emulated\share`, "hunter2"), codes.Unauthenticated, ""},
		"a share":       {share(`\\fs.emulated\none`, "csi-password"), codes.NotFound, ""},
		"a file server": {share(`\\none.emulated\share`, "csi-password"), codes.Unavailable, ""},
	} {
		err := stage(test.edit)
		if status.Code(err) != test.code || !strings.Contains(err.Error(), test.text) ||
			strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v, want %v and %q", name, err, test.code, test.text)
		}
	}

	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := newDriver(mounter.New(n.Client()), "node-1").NodeStageVolume(ctx,
		&csi.NodeStageVolumeRequest{VolumeId: "vol-0123def", StagingTargetPath: staging, VolumeCapability: capability()})
	if got := csicode.Of("NodeStageVolume", err); got != codes.DeadlineExceeded {
		t.Errorf("a disk that does not come: %v, %v, want DeadlineExceeded", got, err)
	}
	for _, path := range []string{staging, "some/path", `C:\Windows`} {
		_, err := plugin.NodeGetVolumeStats(t.Context(), &csi.NodeGetVolumeStatsRequest{VolumeId: "vol-1", VolumePath: path})
		if status.Code(err) != codes.NotFound {
			t.Errorf("stats of %s, where no volume is: %v, want NotFound", path, err)
		}
	}
	_, err = plugin.NodePublishVolume(t.Context(), &csi.NodePublishVolumeRequest{VolumeId: "vol-1", TargetPath: publish,
		VolumeCapability: capability()})
	if status.Code(err) != codes.FailedPrecondition {
		t.Errorf("publishing what is not staged: %v, want FailedPrecondition", err)
	}
}

// TestEphemeral: a pod's own volume is a share, which is published without being staged. Kubelet learns when its server
// is down, and can remove it then.
func TestEphemeral(t *testing.T) {
	n, plugin := start(t)
	for range 2 {
		_, err := plugin.NodePublishVolume(t.Context(), &csi.NodePublishVolumeRequest{
			VolumeId: "csi-1", TargetPath: publish, VolumeCapability: capability(),
			VolumeContext: map[string]string{"csi.storage.k8s.io/ephemeral": "true", "source": "//fs.emulated/share"},
			Secrets:       map[string]string{"username": "csi", "password": "csi-password"},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	n.WriteFile(publish+`\data`, "precious")
	health := func() []*csi.VolumeHealth_VolumeHealthEntry {
		answer, err := plugin.NodeGetVolumeHealth(t.Context(),
			&csi.NodeGetVolumeHealthRequest{VolumeId: "csi-1", VolumePublishPath: publish})
		if err != nil {
			t.Fatal(err)
		}
		return answer.GetVolumeHealth().GetHealthStatuses()
	}
	if got := health(); len(got) > 0 {
		t.Errorf("a volume that works has %v", got)
	}
	n.StopSMBServer("fs.emulated")
	if got := health(); len(got) != 1 || got[0].GetStatus() != csi.VolumeHealthErrorType_INACCESSIBLE {
		t.Errorf("a volume whose server is down has %v, want INACCESSIBLE", got)
	}
	for range 2 {
		if _, err := plugin.NodeUnpublishVolume(t.Context(),
			&csi.NodeUnpublishVolumeRequest{VolumeId: "csi-1", TargetPath: publish}); err != nil {
			t.Fatal(err)
		}
	}
}
