// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/mounter"
)

// attachLimit is how long staging waits for a disk that the cloud has attached. It is shorter than kubelet's two minutes, so
// that the error names what is missing.
const attachLimit = time.Minute

// driver is the plugin. It keeps no state: all it needs to know is in the requests and on the node.
type driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedNodeServer

	mounter    *mounter.Mounter
	nodeID     string
	sharesOnly bool
}

func newDriver(client *csiproxy.Client, nodeID string, sharesOnly bool) *driver {
	return &driver{mounter: mounter.New(client), nodeID: nodeID, sharesOnly: sharesOnly}
}

func (d *driver) register(s *grpc.Server) {
	csi.RegisterIdentityServer(s, d)
	csi.RegisterNodeServer(s, d)
}

func (*driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: "windows.csi.example.com", VendorVersion: "1.0.0"}, nil
}

// GetPluginCapabilities claims the controller, which is another program, as the specification asks of every plugin.
func (*driver) GetPluginCapabilities(context.Context, *csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	return &csi.GetPluginCapabilitiesResponse{Capabilities: []*csi.PluginCapability{{
		Type: &csi.PluginCapability_Service_{Service: &csi.PluginCapability_Service{Type: csi.PluginCapability_Service_CONTROLLER_SERVICE}},
	}}}, nil
}

// Probe reports whether the agent answers.
func (d *driver) Probe(ctx context.Context, _ *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	_, err := d.mounter.Disks(ctx)
	return &csi.ProbeResponse{Ready: wrapperspb.Bool(err == nil)}, nil
}

func (d *driver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: d.nodeID}, nil
}

func (d *driver) NodeGetCapabilities(context.Context, *csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	types := []csi.NodeServiceCapability_RPC_Type{csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME}
	if !d.sharesOnly {
		types = append(types, csi.NodeServiceCapability_RPC_GET_VOLUME_STATS, csi.NodeServiceCapability_RPC_EXPAND_VOLUME)
	}
	answer := &csi.NodeGetCapabilitiesResponse{}
	for _, t := range types {
		answer.Capabilities = append(answer.Capabilities, &csi.NodeServiceCapability{
			Type: &csi.NodeServiceCapability_Rpc{Rpc: &csi.NodeServiceCapability_RPC{Type: t}},
		})
	}
	return answer, nil
}

// NodeStageVolume mounts a disk or maps a share.
func (d *driver) NodeStageVolume(ctx context.Context, r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	if err := errors.Join(need("volume id", r.GetVolumeId()), need("staging path", r.GetStagingTargetPath()), usable(r.GetVolumeCapability())); err != nil {
		return nil, err
	}
	if remote := r.GetVolumeContext()["source"]; remote != "" {
		return &csi.NodeStageVolumeResponse{}, d.mounter.MountShare(ctx, remote, r.GetStagingTargetPath(), credentials(r.GetSecrets()))
	}
	if fsType := r.GetVolumeCapability().GetMount().GetFsType(); fsType != "" && !strings.EqualFold(fsType, "ntfs") {
		return nil, status.Errorf(codes.InvalidArgument, "file system %q: disks of Windows nodes have NTFS", fsType)
	}
	match, err := matchOf(r.GetVolumeId(), r.GetPublishContext())
	if err != nil {
		return nil, err
	}
	attached, cancel := context.WithTimeout(ctx, attachLimit)
	defer cancel()
	disk, err := d.mounter.WaitForDisk(attached, match)
	if err != nil {
		return nil, err
	}
	return &csi.NodeStageVolumeResponse{}, d.mounter.MountDisk(ctx, disk.Number, r.GetStagingTargetPath())
}

// NodeUnstageVolume takes a disk offline, so that it can be detached without loss, or removes a share's link.
func (d *driver) NodeUnstageVolume(ctx context.Context, r *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse, error) {
	if err := errors.Join(need("volume id", r.GetVolumeId()), need("staging path", r.GetStagingTargetPath())); err != nil {
		return nil, err
	}
	return &csi.NodeUnstageVolumeResponse{}, d.mounter.UnmountDevice(ctx, r.GetStagingTargetPath())
}

// NodePublishVolume makes the staged volume available to a pod. A read-only mount is the container runtime's matter.
func (d *driver) NodePublishVolume(ctx context.Context, r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	if err := errors.Join(need("volume id", r.GetVolumeId()), need("target path", r.GetTargetPath()), usable(r.GetVolumeCapability())); err != nil {
		return nil, err
	}
	if ephemeral := r.GetVolumeContext()["csi.storage.k8s.io/ephemeral"] == "true"; ephemeral {
		remote := r.GetVolumeContext()["source"]
		if err := need(`"source" of an ephemeral volume, a share,`, remote); err != nil {
			return nil, err
		}
		return &csi.NodePublishVolumeResponse{}, d.mounter.MountShare(ctx, remote, r.GetTargetPath(), credentials(r.GetSecrets()))
	}
	if r.GetStagingTargetPath() == "" {
		return nil, status.Error(codes.FailedPrecondition, "the volume is not staged: the staging path is missing")
	}
	return &csi.NodePublishVolumeResponse{}, d.mounter.Link(ctx, r.GetStagingTargetPath(), r.GetTargetPath())
}

// NodeUnpublishVolume takes the volume from a pod, whether it still works or not.
func (d *driver) NodeUnpublishVolume(_ context.Context, r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	if err := errors.Join(need("volume id", r.GetVolumeId()), need("target path", r.GetTargetPath())); err != nil {
		return nil, err
	}
	return &csi.NodeUnpublishVolumeResponse{}, d.mounter.Unmount(r.GetTargetPath())
}

func (d *driver) NodeGetVolumeStats(ctx context.Context, r *csi.NodeGetVolumeStatsRequest) (*csi.NodeGetVolumeStatsResponse, error) {
	if err := errors.Join(need("volume id", r.GetVolumeId()), need("volume path", r.GetVolumePath())); err != nil {
		return nil, err
	}
	usage, err := d.mounter.Usage(ctx, r.GetVolumePath())
	if err != nil {
		return nil, err
	}
	return &csi.NodeGetVolumeStatsResponse{Usage: []*csi.VolumeUsage{{
		Unit: csi.VolumeUsage_BYTES, Total: usage.Total, Used: usage.Used, Available: usage.Available,
	}}}, nil
}

// NodeExpandVolume grows the file system after the disk has grown.
func (d *driver) NodeExpandVolume(ctx context.Context, r *csi.NodeExpandVolumeRequest) (*csi.NodeExpandVolumeResponse, error) {
	if err := errors.Join(need("volume id", r.GetVolumeId()), need("volume path", r.GetVolumePath())); err != nil {
		return nil, err
	}
	bytes, err := d.mounter.Expand(ctx, r.GetVolumePath())
	return &csi.NodeExpandVolumeResponse{CapacityBytes: bytes}, err
}

// matchOf returns how to recognise a volume's disk: by the LUN, if the controller says it, or else by a serial number that is
// the volume's id without hyphens.
func matchOf(volumeID string, publishContext map[string]string) (mounter.Match, error) {
	text, ok := publishContext["lun"]
	if !ok {
		return mounter.BySerialNumber(strings.ReplaceAll(volumeID, "-", "")), nil
	}
	lun, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return nil, status.Errorf(codes.InvalidArgument, "LUN %q of the publish context is not a number", text)
	}
	return mounter.ByLUN(uint32(lun)), nil
}

func credentials(secrets map[string]string) mounter.Credentials {
	return mounter.Credentials{User: secrets["username"], Password: secrets["password"]}
}

// need returns an error if a request lacks a value.
func need(name, value string) error {
	if value == "" {
		return status.Errorf(codes.InvalidArgument, "the %s is missing", name)
	}
	return nil
}

// usable returns an error if a volume cannot be used as a request asks.
func usable(c *csi.VolumeCapability) error {
	switch {
	case c == nil:
		return status.Error(codes.InvalidArgument, "the volume capability is missing")
	case c.GetBlock() != nil:
		return status.Error(codes.InvalidArgument, "Windows containers have no raw block volumes: use volumeMode Filesystem")
	}
	return nil
}
