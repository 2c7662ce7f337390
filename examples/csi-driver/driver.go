// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"net"
	"strconv"
	"strings"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/mounter"
)

// driver is the plugin. All that it needs to know is in the requests and on the node: it may end at any time.
type driver struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedNodeServer

	mounter *mounter.Mounter
	nodeID  string
}

// newDriver makes the plugin of a node.
func newDriver(m *mounter.Mounter, nodeID string) *driver {
	return &driver{mounter: m, nodeID: nodeID}
}

func (d *driver) register(s *grpc.Server) {
	csi.RegisterIdentityServer(s, d)
	csi.RegisterNodeServer(s, d)
}

func (*driver) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: "windows.csi.example.com", VendorVersion: "1.0.0"}, nil
}

// GetPluginCapabilities claims the controller, which is another program, as the specification asks of every plugin.
func (*driver) GetPluginCapabilities(context.Context,
	*csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	return &csi.GetPluginCapabilitiesResponse{Capabilities: []*csi.PluginCapability{{
		Type: &csi.PluginCapability_Service_{Service: &csi.PluginCapability_Service{
			Type: csi.PluginCapability_Service_CONTROLLER_SERVICE,
		}},
	}}}, nil
}

// Probe does not ask the agent: to restart the driver cures no agent, and calls wait while it is replaced.
func (*driver) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{Ready: wrapperspb.Bool(true)}, nil
}

func (d *driver) NodeGetInfo(context.Context, *csi.NodeGetInfoRequest) (*csi.NodeGetInfoResponse, error) {
	return &csi.NodeGetInfoResponse{NodeId: d.nodeID}, nil
}

func (*driver) NodeGetCapabilities(context.Context,
	*csi.NodeGetCapabilitiesRequest) (*csi.NodeGetCapabilitiesResponse, error) {
	types := []csi.NodeServiceCapability_RPC_Type{
		csi.NodeServiceCapability_RPC_STAGE_UNSTAGE_VOLUME, csi.NodeServiceCapability_RPC_GET_VOLUME_HEALTH,
		csi.NodeServiceCapability_RPC_GET_VOLUME_STATS, csi.NodeServiceCapability_RPC_EXPAND_VOLUME,
	}
	answer := &csi.NodeGetCapabilitiesResponse{}
	for _, t := range types {
		answer.Capabilities = append(answer.Capabilities, &csi.NodeServiceCapability{
			Type: &csi.NodeServiceCapability_Rpc{Rpc: &csi.NodeServiceCapability_RPC{Type: t}},
		})
	}
	return answer, nil
}

// NodeStageVolume mounts a disk, of the machine or at an iSCSI target, or maps a share.
func (d *driver) NodeStageVolume(ctx context.Context,
	r *csi.NodeStageVolumeRequest) (*csi.NodeStageVolumeResponse, error) {
	if err := errors.Join(need("volume id", r.GetVolumeId()), need("staging path", r.GetStagingTargetPath()),
		usable(r.GetVolumeCapability())); err != nil {
		return nil, err
	}
	if remote := r.GetVolumeContext()["source"]; remote != "" {
		return &csi.NodeStageVolumeResponse{}, d.mounter.StageShare(ctx, remote, r.GetStagingTargetPath(),
			credentials(r.GetSecrets()))
	}
	if fsType := r.GetVolumeCapability().GetMount().GetFsType(); fsType != "" && !strings.EqualFold(fsType, "ntfs") {
		return nil, status.Errorf(codes.InvalidArgument, "file system %q: disks of Windows nodes have NTFS", fsType)
	}
	options := mounter.StageOptions{ReadOnly: readOnly(r.GetVolumeCapability())}
	if disk, ok := iscsiOf(r.GetVolumeId()); ok {
		chap := mounter.CHAP{User: r.GetSecrets()["username"], Secret: r.GetSecrets()["password"]}
		_, err := d.mounter.StageISCSI(ctx, disk, r.GetStagingTargetPath(), chap, options)
		return &csi.NodeStageVolumeResponse{}, err
	}
	match, err := matchOf(r.GetVolumeId(), r.GetPublishContext())
	if err != nil {
		return nil, err
	}
	_, err = d.mounter.StageDisk(ctx, match, r.GetStagingTargetPath(), options)
	return &csi.NodeStageVolumeResponse{}, err
}

// NodeUnstageVolume takes a disk offline, so that it can be detached without loss, or removes the mapping of a share
// with its last user.
func (d *driver) NodeUnstageVolume(ctx context.Context,
	r *csi.NodeUnstageVolumeRequest) (*csi.NodeUnstageVolumeResponse, error) {
	if err := errors.Join(need("volume id", r.GetVolumeId()), need("staging path", r.GetStagingTargetPath())); err != nil {
		return nil, err
	}
	if disk, ok := iscsiOf(r.GetVolumeId()); ok {
		return &csi.NodeUnstageVolumeResponse{}, d.mounter.UnstageISCSI(ctx, disk, r.GetStagingTargetPath())
	}
	return &csi.NodeUnstageVolumeResponse{}, d.mounter.Unstage(ctx, r.GetStagingTargetPath())
}

// NodePublishVolume makes the staged volume available to a pod. A read-only mount is the container runtime's matter.
func (d *driver) NodePublishVolume(ctx context.Context,
	r *csi.NodePublishVolumeRequest) (*csi.NodePublishVolumeResponse, error) {
	if err := errors.Join(need("volume id", r.GetVolumeId()), need("target path", r.GetTargetPath()),
		usable(r.GetVolumeCapability())); err != nil {
		return nil, err
	}
	remote := r.GetVolumeContext()["source"]
	if ephemeral := r.GetVolumeContext()["csi.storage.k8s.io/ephemeral"] == "true"; ephemeral {
		if err := need(`"source" of an ephemeral volume, a share,`, remote); err != nil {
			return nil, err
		}
		return &csi.NodePublishVolumeResponse{}, d.mounter.StageShare(ctx, remote, r.GetTargetPath(),
			credentials(r.GetSecrets()))
	}
	if r.GetStagingTargetPath() == "" {
		return nil, status.Error(codes.FailedPrecondition, "the volume is not staged: the staging path is missing")
	}
	if remote != "" { // the mapping of a share may have become useless since it was staged
		if err := d.mounter.EnsureShare(ctx, remote, r.GetStagingTargetPath(), credentials(r.GetSecrets())); err != nil {
			return nil, err
		}
	}
	return &csi.NodePublishVolumeResponse{}, d.mounter.Publish(ctx, r.GetStagingTargetPath(), r.GetTargetPath())
}

// NodeUnpublishVolume takes the volume from a pod, whether it still works or not.
func (d *driver) NodeUnpublishVolume(ctx context.Context,
	r *csi.NodeUnpublishVolumeRequest) (*csi.NodeUnpublishVolumeResponse, error) {
	if err := errors.Join(need("volume id", r.GetVolumeId()), need("target path", r.GetTargetPath())); err != nil {
		return nil, err
	}
	return &csi.NodeUnpublishVolumeResponse{}, d.mounter.Unstage(ctx, r.GetTargetPath())
}

func (d *driver) NodeGetVolumeStats(ctx context.Context,
	r *csi.NodeGetVolumeStatsRequest) (*csi.NodeGetVolumeStatsResponse, error) {
	if err := errors.Join(need("volume id", r.GetVolumeId()), need("volume path", r.GetVolumePath())); err != nil {
		return nil, err
	}
	volume, err := d.mounter.GetVolume(ctx, r.GetVolumePath())
	if err == nil {
		err = volume.SizeErr
	}
	if err != nil {
		return nil, err
	}
	return &csi.NodeGetVolumeStatsResponse{Usage: []*csi.VolumeUsage{{
		Unit: csi.VolumeUsage_BYTES, Total: volume.Total, Used: volume.Used, Available: volume.Available,
	}}}, nil
}

// NodeGetVolumeHealth returns what is wrong with a volume. It is what CSI 1.13 has instead of the volume condition.
func (d *driver) NodeGetVolumeHealth(ctx context.Context,
	r *csi.NodeGetVolumeHealthRequest) (*csi.NodeGetVolumeHealthResponse, error) {
	if err := need("volume id", r.GetVolumeId()); err != nil {
		return nil, err
	}
	health := &csi.VolumeHealth{VolumeId: r.GetVolumeId()}
	path := cmp.Or(r.GetVolumePublishPath(), r.GetStagingTargetPath())
	if path == "" {
		return &csi.NodeGetVolumeHealthResponse{VolumeHealth: health}, nil // nothing is known
	}
	volume, err := d.mounter.GetVolume(ctx, path)
	if err != nil {
		return nil, err
	}
	if volume.Abnormal {
		entry := &csi.VolumeHealth_VolumeHealthEntry{Status: csi.VolumeHealthErrorType_INACCESSIBLE, Reason: "Inaccessible",
			Message: volume.Message}
		if volume.Reason == reason.NearlyFull {
			entry.Status, entry.Reason = csi.VolumeHealthErrorType_DEGRADED, "NearlyFull"
		}
		health.HealthStatuses = append(health.HealthStatuses, entry)
	}
	return &csi.NodeGetVolumeHealthResponse{VolumeHealth: health}, nil
}

// NodeExpandVolume grows the file system after the disk has grown. The server of a share decides its
// size.
func (d *driver) NodeExpandVolume(ctx context.Context,
	r *csi.NodeExpandVolumeRequest) (*csi.NodeExpandVolumeResponse, error) {
	if err := errors.Join(need("volume id", r.GetVolumeId()), need("volume path", r.GetVolumePath())); err != nil {
		return nil, err
	}
	size, err := d.mounter.Expand(ctx, r.GetVolumePath(), r.GetCapacityRange().GetRequiredBytes())
	if errors.Is(err, csiproxy.ErrOnShare) {
		return &csi.NodeExpandVolumeResponse{}, nil
	}
	return &csi.NodeExpandVolumeResponse{CapacityBytes: size.Disk}, err
}

// matchOf returns how to recognise a volume's disk: by what the controller says of it or else by the volume's id, as
// with EBS.
func matchOf(volumeID string, publishContext map[string]string) (mounter.Match, error) {
	if uuid, ok := publishContext["diskUUID"]; ok {
		return mounter.ByVSphereUUID(uuid), nil
	}
	if device, ok := publishContext["deviceName"]; ok {
		return mounter.ByGCEDevice(device), nil
	}
	text, ok := publishContext["lun"]
	if !ok {
		return mounter.ByEBSVolume(volumeID), nil
	}
	lun, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return mounter.Match{}, status.Errorf(codes.InvalidArgument, "LUN %q of the publish context is not a number", text)
	}
	return mounter.ByAzureLUN(uint32(lun)), nil
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

// readOnly reports whether a volume must not be written to.
func readOnly(c *csi.VolumeCapability) bool {
	mode := c.GetAccessMode().GetMode()
	return mode == csi.VolumeCapability_AccessMode_SINGLE_NODE_READER_ONLY ||
		mode == csi.VolumeCapability_AccessMode_MULTI_NODE_READER_ONLY
}

// iscsiOf returns the disk of a volume, or false if it is not at an iSCSI target. Kubelet unstages a volume by its id
// alone, so the id says where it is: ADDRESS:PORT,IQN,LUN.
func iscsiOf(volumeID string) (disk mounter.ISCSIDisk, ok bool) {
	parts := strings.Split(volumeID, ",")
	if len(parts) != 3 {
		return disk, false
	}
	host, port, hostErr := net.SplitHostPort(parts[0])
	number, portErr := strconv.ParseUint(port, 10, 16)
	lun, lunErr := strconv.ParseUint(parts[2], 10, 32)
	if hostErr != nil || portErr != nil || lunErr != nil {
		return disk, false
	}
	return mounter.ISCSIDisk{Address: host, Port: uint32(number), IQN: parts[1], LUN: uint32(lun)}, true
}
