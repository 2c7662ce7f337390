// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
)

// attempts is how often the tests' kubelet repeats a failing call; the real one never stops.
const attempts = 4

// A kubelet makes kubelet's calls for the pods that use one volume, and does around them what kubelet does on the node:
// it makes the directories beforehand, accepting a mount point that is there already, whether it works or not
// (MkdirAllWithPathCheck, kubernetes #119401); it removes them afterwards, and after an error that is final.
//
// Source: csi_attacher.go and csi_mounter.go in pkg/volume/csi of Kubernetes, and filesystem.MkdirAllWithPathCheck.
type kubelet struct {
	*machine

	volumeID    string
	context     map[string]string // of the volume
	secrets     map[string]string
	injectFault func(operation string) (over func()) // before and after each attempt of a call
}

func (k *kubelet) staging() string {
	return fmt.Sprintf(`C:\var\lib\kubelet\plugins\kubernetes.io\csi\windows.csi.example.com\%x\globalmount`,
		sha256.Sum256([]byte(k.volumeID)))
}

func target(pod string) string {
	return `C:\var\lib\kubelet\pods\` + pod + `\volumes\kubernetes.io~csi\pv\mount`
}

func capability() *csi.VolumeCapability {
	return &csi.VolumeCapability{
		AccessMode: &csi.VolumeCapability_AccessMode{Mode: csi.VolumeCapability_AccessMode_SINGLE_NODE_WRITER},
		AccessType: &csi.VolumeCapability_Mount{Mount: &csi.VolumeCapability_MountVolume{FsType: "ntfs"}},
	}
}

// mountDevice stages the volume.
func (k *kubelet) mountDevice() {
	k.t.Helper()
	call(k, k.staging(), k.staging(), csi.NodeClient.NodeStageVolume, &csi.NodeStageVolumeRequest{
		VolumeId: k.volumeID, StagingTargetPath: k.staging(), VolumeCapability: capability(),
		VolumeContext: k.context, Secrets: k.secrets,
	})
}

// setUp publishes the volume for a pod.
func (k *kubelet) setUp(pod string) {
	k.t.Helper()
	call(k, parent(target(pod)), target(pod), csi.NodeClient.NodePublishVolume, &csi.NodePublishVolumeRequest{
		VolumeId: k.volumeID, StagingTargetPath: k.staging(), TargetPath: target(pod), VolumeCapability: capability(),
		VolumeContext: k.context, Secrets: k.secrets,
	})
}

// tearDown unpublishes the volume of a pod, and removes the pod's directories.
func (k *kubelet) tearDown(pod string) {
	k.t.Helper()
	call(k, "", "", csi.NodeClient.NodeUnpublishVolume,
		&csi.NodeUnpublishVolumeRequest{VolumeId: k.volumeID, TargetPath: target(pod)})
	k.removeMountDir(target(pod))
	for dir := parent(target(pod)); dir != `C:\var\lib\kubelet\pods`; dir = parent(dir) {
		k.removeMountDir(dir)
	}
}

// unmountDevice unstages the volume, and removes its directory.
func (k *kubelet) unmountDevice() {
	k.t.Helper()
	call(k, "", "", csi.NodeClient.NodeUnstageVolume,
		&csi.NodeUnstageVolumeRequest{VolumeId: k.volumeID, StagingTargetPath: k.staging()})
	k.removeMountDir(k.staging())
	k.removeMountDir(parent(k.staging()))
}

// expand grows the volume in use, after its disk, and returns its size.
func (k *kubelet) expand(pod string, bytes int64) (size int64) {
	k.t.Helper()
	return call(k, "", "", csi.NodeClient.NodeExpandVolume, &csi.NodeExpandVolumeRequest{
		VolumeId: k.volumeID, VolumePath: target(pod), StagingTargetPath: k.staging(), VolumeCapability: capability(),
		CapacityRange: &csi.CapacityRange{RequiredBytes: bytes},
	}).GetCapacityBytes()
}

// stats returns the size of the volume as its pod's metrics have it.
func (k *kubelet) stats(pod string) (total int64) {
	k.t.Helper()
	return call(k, "", "", csi.NodeClient.NodeGetVolumeStats, &csi.NodeGetVolumeStatsRequest{VolumeId: k.volumeID,
		VolumePath: target(pod), StagingTargetPath: k.staging()}).GetUsage()[0].GetTotal()
}

// call makes a call until it succeeds. Before each attempt it makes a directory, after a final error it removes what it
// made.
func call[Q, A any](k *kubelet, makes, removes string,
	method func(csi.NodeClient, context.Context, *Q, ...grpc.CallOption) (*A, error), request *Q) *A {
	k.t.Helper()
	var failure error
	for range attempts {
		if makes != "" {
			_, err := k.client.Filesystem.Mkdir(context.Background(), &csiproxy.MkdirRequest{Path: makes})
			if !errors.Is(err, csiproxy.ErrLink) && !errors.Is(err, csiproxy.ErrPathExists) {
				k.must("kubelet making "+makes, err)
			}
		}
		over := k.injectFault(fmt.Sprintf("%T", request))
		connection := k.connect()
		answer, err := method(csi.NewNodeClient(connection), context.Background(), request)
		_ = connection.Close()
		over()
		if err == nil {
			return answer
		}
		if failure = err; isFinal(err) && removes != "" {
			k.removeMountDir(removes)
		}
	}
	k.t.Fatalf("%T of %s does not recover: %v", request, k.volumeID, failure)
	return nil
}

// isFinal reports whether kubelet takes an error for the end of an operation (isFinalError in csi_client.go).
func isFinal(err error) bool {
	switch status.Code(err) {
	case codes.Canceled, codes.DeadlineExceeded, codes.Unavailable, codes.ResourceExhausted, codes.Aborted:
		return false
	}
	return true
}

// removeMountDir removes an empty directory, but nothing that is mounted.
func (k *kubelet) removeMountDir(path string) {
	k.t.Helper()
	mounted, err := k.client.Filesystem.IsSymlink(context.Background(), &csiproxy.IsSymlinkRequest{Path: path})
	if err == nil && !mounted.GetIsSymlink() {
		_, err = k.client.Filesystem.Rmdir(context.Background(), &csiproxy.RmdirRequest{Path: path})
	}
	if !errors.Is(err, csiproxy.ErrPathNotFound) {
		k.must("kubelet removing "+path, err)
	}
}

// write writes a file in the volume, as a container does whose subPath is dir, which kubelet makes.
func (k *kubelet) write(pod, dir, content string) {
	k.t.Helper()
	path := target(pod) + `\` + dir
	ask(k.machine, k.client.Filesystem.Mkdir, &csiproxy.MkdirRequest{Path: path})
	k.must("the container writing", os.WriteFile(filepath.Join(k.hostPath(path), "data"), []byte(content), 0o600))
}

// read fails the test unless the file of a container has this content.
func (k *kubelet) read(pod, dir, want string) {
	k.t.Helper()
	got, err := os.ReadFile(filepath.Join(k.hostPath(target(pod)+`\`+dir), "data"))
	if err != nil || string(got) != want {
		k.t.Fatalf("pod %s reads %q, %v, want %q", pod, got, err, want)
	}
}

func (k *kubelet) hostPath(windowsPath string) string {
	k.t.Helper()
	r := ask(k.machine, k.Admin.Get, &nodeapi.GetRequest{Part: "hostPath", WindowsPath: windowsPath})
	return r.GetDocument().GetFields()["hostPath"].GetStringValue()
}

// gone fails the test if anything of the volume is left on the node.
func (k *kubelet) gone(pods ...string) {
	k.t.Helper()
	paths := []string{parent(k.staging())}
	for _, pod := range pods {
		paths = append(paths, `C:\var\lib\kubelet\pods\`+pod)
	}
	for _, path := range paths {
		if ask(k.machine, k.client.Filesystem.PathExists, &csiproxy.PathExistsRequest{Path: path}).GetExists() {
			k.t.Errorf("%s is left on the node", path)
		}
	}
	for _, l := range k.facts().GetLinks() {
		if l.GetMissing() {
			k.t.Errorf("%v leads nowhere", l)
		}
	}
}

// facts returns what the agent sees on the node.
func (k *kubelet) facts() *admin.GetFactsResponse {
	k.t.Helper()
	return ask(k.machine, k.Admin.GetFacts, &admin.GetFactsRequest{
		Parts: []admin.Part{admin.Part_PART_LINKS, admin.Part_PART_MAPPINGS, admin.Part_PART_SESSIONS}})
}

func parent(path string) string { return path[:strings.LastIndexByte(path, '\\')] }
