// SPDX-License-Identifier: Apache-2.0

package csisanity

import (
	"cmp"
	"context"
	"errors"
	"sync"

	"github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
)

// defaultBytes is the size of a volume for which none is asked.
const defaultBytes = 1 << 30

// controller is the controller service of the driver: its volumes are disks or shares of the node.
type controller struct {
	csi.UnimplementedIdentityServer
	csi.UnimplementedControllerServer

	node   Node
	nodeID string
	kind   Volumes

	mu      sync.Mutex
	made    int
	volumes map[string]*volume // by id
}

// volume is a volume that exists.
type volume struct {
	name     string
	bytes    int64
	attached bool
	disk     uint32 // while it is attached
	image    string // after it was: what is on it
}

var (
	errNoVolumeID   = status.Error(codes.InvalidArgument, "no volume id")
	errNoCapability = status.Error(codes.InvalidArgument, "no volume capability")
	errNoVolume     = status.Error(codes.NotFound, "no such volume")
)

func (c *controller) register(s *grpc.Server) {
	csi.RegisterIdentityServer(s, c)
	csi.RegisterControllerServer(s, c)
}

func (*controller) GetPluginInfo(context.Context, *csi.GetPluginInfoRequest) (*csi.GetPluginInfoResponse, error) {
	return &csi.GetPluginInfoResponse{Name: "controller.csisanity", VendorVersion: "1"}, nil
}

func (*controller) GetPluginCapabilities(context.Context,
	*csi.GetPluginCapabilitiesRequest) (*csi.GetPluginCapabilitiesResponse, error) {
	return &csi.GetPluginCapabilitiesResponse{Capabilities: []*csi.PluginCapability{{
		Type: &csi.PluginCapability_Service_{Service: &csi.PluginCapability_Service{
			Type: csi.PluginCapability_Service_CONTROLLER_SERVICE,
		}},
	}}}, nil
}

func (*controller) Probe(context.Context, *csi.ProbeRequest) (*csi.ProbeResponse, error) {
	return &csi.ProbeResponse{Ready: wrapperspb.Bool(true)}, nil
}

func (c *controller) ControllerGetCapabilities(context.Context,
	*csi.ControllerGetCapabilitiesRequest) (*csi.ControllerGetCapabilitiesResponse, error) {
	answer := &csi.ControllerGetCapabilitiesResponse{}
	types := []csi.ControllerServiceCapability_RPC_Type{csi.ControllerServiceCapability_RPC_CREATE_DELETE_VOLUME}
	if c.kind.Disk != nil {
		types = append(types, csi.ControllerServiceCapability_RPC_PUBLISH_UNPUBLISH_VOLUME,
			csi.ControllerServiceCapability_RPC_EXPAND_VOLUME)
	}
	for _, t := range types {
		answer.Capabilities = append(answer.Capabilities, &csi.ControllerServiceCapability{
			Type: &csi.ControllerServiceCapability_Rpc{Rpc: &csi.ControllerServiceCapability_RPC{Type: t}},
		})
	}
	return answer, nil
}

func (c *controller) CreateVolume(_ context.Context, r *csi.CreateVolumeRequest) (*csi.CreateVolumeResponse, error) {
	if r.GetName() == "" || len(r.GetVolumeCapabilities()) == 0 {
		return nil, status.Error(codes.InvalidArgument, "a volume needs a name and capabilities")
	}
	bytes := cmp.Or(r.GetCapacityRange().GetRequiredBytes(), defaultBytes)
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, v := range c.volumes {
		if v.name == r.GetName() {
			if v.bytes != bytes {
				return nil, status.Errorf(codes.AlreadyExists, "volume %s has another size", v.name)
			}
			return c.created(id, v), nil
		}
	}
	c.made++
	id, v := c.kind.ID(c.made), &volume{name: r.GetName(), bytes: bytes}
	if c.kind.Server != "" {
		if err := attempt(func() { c.node.AddSMBShare(c.kind.Server, id) }); err != nil {
			return nil, err
		}
	}
	c.volumes[id] = v
	return c.created(id, v), nil
}

func (c *controller) created(id string, v *volume) *csi.CreateVolumeResponse {
	answer := &csi.Volume{VolumeId: id, CapacityBytes: v.bytes}
	if c.kind.VolumeContext != nil {
		answer.VolumeContext = c.kind.VolumeContext(id)
	}
	return &csi.CreateVolumeResponse{Volume: answer}
}

func (c *controller) DeleteVolume(_ context.Context, r *csi.DeleteVolumeRequest) (*csi.DeleteVolumeResponse, error) {
	if r.GetVolumeId() == "" {
		return nil, errNoVolumeID
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	v := c.volumes[r.GetVolumeId()]
	switch {
	case v == nil:
		return &csi.DeleteVolumeResponse{}, nil
	case v.attached:
		return nil, status.Errorf(codes.FailedPrecondition, "volume %s is attached", r.GetVolumeId())
	case c.kind.Server != "":
		if err := attempt(func() { c.node.RemoveSMBShare(c.kind.Server, r.GetVolumeId()) }); err != nil {
			return nil, err
		}
	}
	delete(c.volumes, r.GetVolumeId())
	return &csi.DeleteVolumeResponse{}, nil
}

func (c *controller) ValidateVolumeCapabilities(_ context.Context,
	r *csi.ValidateVolumeCapabilitiesRequest) (*csi.ValidateVolumeCapabilitiesResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case r.GetVolumeId() == "":
		return nil, errNoVolumeID
	case len(r.GetVolumeCapabilities()) == 0:
		return nil, errNoCapability
	case c.volumes[r.GetVolumeId()] == nil:
		return nil, errNoVolume
	}
	return &csi.ValidateVolumeCapabilitiesResponse{Confirmed: &csi.ValidateVolumeCapabilitiesResponse_Confirmed{
		VolumeCapabilities: r.GetVolumeCapabilities(),
	}}, nil
}

func (c *controller) ControllerPublishVolume(_ context.Context,
	r *csi.ControllerPublishVolumeRequest) (*csi.ControllerPublishVolumeResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := r.GetVolumeId()
	v := c.volumes[id]
	switch {
	case id == "" || r.GetNodeId() == "":
		return nil, status.Error(codes.InvalidArgument, "no volume id or node id")
	case r.GetVolumeCapability() == nil:
		return nil, errNoCapability
	case v == nil:
		return nil, errNoVolume
	case r.GetNodeId() != c.nodeID:
		return nil, status.Error(codes.NotFound, "no such node")
	case !v.attached:
		if err := c.attach(id, v); err != nil {
			return nil, err
		}
	}
	answer := &csi.ControllerPublishVolumeResponse{}
	if c.kind.PublishContext != nil {
		answer.PublishContext = c.kind.PublishContext(id, v.disk)
	}
	return answer, nil
}

func (c *controller) attach(id string, v *volume) error {
	disk := c.kind.Disk(id)
	disk.SizeBytes, disk.ImagePath = v.bytes, v.image
	if v.image != "" {
		disk.SizeBytes = 0
	}
	if err := attempt(func() { v.disk = c.node.AttachDisk(disk) }); err != nil {
		return err
	}
	v.attached = true
	return nil
}

func (c *controller) ControllerUnpublishVolume(_ context.Context,
	r *csi.ControllerUnpublishVolumeRequest) (*csi.ControllerUnpublishVolumeResponse, error) {
	if r.GetVolumeId() == "" {
		return nil, errNoVolumeID
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if v := c.volumes[r.GetVolumeId()]; v != nil && v.attached {
		if err := attempt(func() { v.image = c.node.DetachDisk(v.disk) }); err != nil {
			return nil, err
		}
		v.attached = false
	}
	return &csi.ControllerUnpublishVolumeResponse{}, nil
}

func (c *controller) ControllerExpandVolume(_ context.Context,
	r *csi.ControllerExpandVolumeRequest) (*csi.ControllerExpandVolumeResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	bytes, v := r.GetCapacityRange().GetRequiredBytes(), c.volumes[r.GetVolumeId()]
	switch {
	case r.GetVolumeId() == "":
		return nil, errNoVolumeID
	case r.GetCapacityRange() == nil:
		return nil, status.Error(codes.InvalidArgument, "no capacity range")
	case v == nil:
		return nil, errNoVolume
	case !v.attached && v.image != "":
		return nil, status.Error(codes.FailedPrecondition, "the volume has been used and is not attached")
	}
	if v.attached && bytes > v.bytes {
		if err := attempt(func() { c.node.GrowDisk(v.disk, bytes) }); err != nil {
			return nil, err
		}
	}
	v.bytes = max(v.bytes, bytes)
	return &csi.ControllerExpandVolumeResponse{CapacityBytes: v.bytes, NodeExpansionRequired: true}, nil
}

// attempt changes the node. A change that fails ends the goroutine that makes it, by testing.T.FailNow, and the
// goroutine of a gRPC call must not end.
func attempt(change func()) error {
	ended := make(chan bool, 1)
	go func() {
		done := false
		defer func() { ended <- done }()
		change()
		done = true
	}()
	if !<-ended {
		return errors.New("the node refuses; the test's log has the reason")
	}
	return nil
}

var _ Node = (*csiproxytest.Node)(nil)
