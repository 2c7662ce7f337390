// SPDX-License-Identifier: Apache-2.0

package apis

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	api "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/calls"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/client/stepwise"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
	"github.com/kubernetes-csi/csi-proxy/internal/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/fileowner"
	"github.com/kubernetes-csi/csi-proxy/internal/node"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// nodestepsEndpoint returns the endpoint of the group nodesteps. Its methods are the steps of package stepwise, which
// call the methods of the other groups as a driver would.
func nodestepsEndpoint(n *node.Node, others []server.Endpoint) server.Endpoint {
	groups := versions.Groups()
	g := groups[slices.IndexFunc(groups, func(g versions.Group) bool { return g.Name == "nodesteps" })]
	m := stepwise.New(calls.Over(server.NewLoopbackConn(others))).
		ForAgent(stepwise.Agent{MountPoints: n.Volumes.MountPoints, Own: server.WithoutClientPolicy,
			Means: meansDisk, MeansDiskOf: node.WithDiskOf, DiskDevices: diskDevices(n), DataVolume: n.Volumes.DataVolume,
			AddAccess: addAccess(n)})
	if dir := n.Kubelet(); dir != "" {
		m = m.WithKubelet(dir, kubeletFiles{n.Filesystem, dir})
	}
	return endpoint(g, g.Hub, nodestepsMethods(n, m))
}

func meansDisk(ctx context.Context, d stepwise.Disk) context.Context {
	return node.WithDisk(ctx, d.Number, node.DiskIDs{Page83: d.Page83, SerialNumber: d.SerialNumber})
}

func diskDevices(n *node.Node) func(context.Context) (map[uint32]stepwise.DiskDevice, error) {
	return func(ctx context.Context) (map[uint32]stepwise.DiskDevice, error) {
		found, err := n.Disks.Devices(ctx)
		devices := make(map[uint32]stepwise.DiskDevice, len(found))
		for number, d := range found {
			devices[number] = stepwise.DiskDevice(d)
		}
		return devices, err
	}
}

// nodestepsMethods returns the methods of nodesteps v1alpha1, the group's hub and only version.
func nodestepsMethods(n *node.Node, m *stepwise.Mounter) []server.Method {
	return []server.Method{
		server.Unary("StageDisk", server.LimitLong,
			func(ctx context.Context, r *api.StageDiskRequest) (*api.StageDiskResponse, error) {
				response, err := stageDisk(ctx, n, m, r)
				return response, stepError(err)
			}),
		server.Unary("StageShare", server.LimitLong,
			func(ctx context.Context, r *api.StageShareRequest) (*api.StageShareResponse, error) {
				response, err := stageShare(ctx, n, m, r)
				return response, stepError(err)
			}),
		server.Unary("Unstage", server.LimitLong,
			func(ctx context.Context, r *api.UnstageRequest) (*api.UnstageResponse, error) {
				step := node.Composite{Verb: "Unstage", Target: r.GetTargetPath()}
				response, err := node.Run(ctx, n, step, func(ctx context.Context, target string) (*api.UnstageResponse, error) {
					return &api.UnstageResponse{}, unstage(ctx, n, m, target)
				})
				return response, stepError(err)
			}),
		server.Unary("Publish", server.LimitWrite,
			func(ctx context.Context, r *api.PublishRequest) (*api.PublishResponse, error) {
				source, err := n.ParsePath(r.GetSourcePath())
				if err != nil {
					return nil, err
				}
				step := node.Composite{Verb: "Publish", Target: r.GetTargetPath(), Arguments: "source=" + source}
				response, err := node.Run(ctx, n, step, func(ctx context.Context, target string) (*api.PublishResponse, error) {
					return &api.PublishResponse{}, m.Publish(ctx, source, target)
				})
				return response, stepError(err)
			}),
		server.Unary("Expand", server.LimitLong,
			func(ctx context.Context, r *api.ExpandRequest) (*api.ExpandResponse, error) {
				if r.GetSizeBytes() < 0 {
					return nil, &errdefs.Error{Class: errdefs.InvalidArgument, Reason: reason.NegativeSize,
						Message: fmt.Sprintf("the size %d is negative", r.GetSizeBytes())}
				}
				step := node.Composite{Verb: "Expand", Target: r.GetTargetPath(),
					Arguments: fmt.Sprintf("size=%d", r.GetSizeBytes())}
				response, err := node.Run(ctx, n, step, func(ctx context.Context, target string) (*api.ExpandResponse, error) {
					size, err := m.ExpandTo(ctx, target, r.GetSizeBytes())
					return &api.ExpandResponse{DiskBytes: size.Disk, TotalBytes: size.FileSystem}, err
				})
				return response, stepError(err)
			}),
		server.Unary("GetVolume", server.LimitRead,
			func(ctx context.Context, r *api.GetVolumeRequest) (*api.GetVolumeResponse, error) {
				response, err := getVolume(ctx, n, m, r)
				return response, stepError(err)
			}),
		server.Unary("GetUsage", server.LimitRead,
			func(ctx context.Context, r *api.GetUsageRequest) (*api.GetUsageResponse, error) {
				usage, err := n.Filesystem.Usage(ctx, r.GetTargetPath())
				return &api.GetUsageResponse{TotalBytes: usage.Total, UsedBytes: usage.Used,
					AvailableBytes: usage.Available}, err
			}),
	}
}

// stageDisk waits for the disk only as long as its caller does: a disk that arrives later is not staged.
func stageDisk(ctx context.Context, n *node.Node, m *stepwise.Mounter,
	r *api.StageDiskRequest) (*api.StageDiskResponse, error) {
	if r.GetDisk() == nil {
		return nil, &errdefs.Error{Class: errdefs.InvalidArgument, Reason: reason.InvalidArgument,
			Message: "the request describes no disk"}
	}
	at := r.GetIscsiDisk()
	if err := shortTexts(r.GetSerialNumber(), r.GetPage83Id(), r.GetEbsVolumeId(), r.GetGceDeviceName(),
		r.GetVsphereUuid(), r.GetModel(), at.GetTargetAddress(), at.GetIqn()); err != nil {
		return nil, err
	}
	match, options := matchOf(r), stepwise.StageOptions{ReadOnly: r.GetReadOnly(), KeepSize: r.GetKeepSize()}
	for _, e := range r.GetAccess() {
		options.Access = append(options.Access, stepwise.Access{SID: e.GetSid(), Rights: stepwise.Rights(e.GetRights())})
	}
	access, err := accessOf(options.Access)
	if err != nil {
		return nil, err
	}
	target, err := n.ParsePath(r.GetTargetPath())
	if err != nil {
		return nil, err
	}
	// a disk with a known number is there already
	if _, byNumber := r.GetDisk().(*api.StageDiskRequest_DiskNumber); !byNumber {
		waiting, cancel := beforeDeadline(ctx)
		defer cancel()
		if _, err := m.WaitForDisk(waiting, match); err != nil {
			return nil, err
		}
	}
	step := node.Composite{
		Verb: "StageDisk", Target: target,
		Arguments: fmt.Sprintf("%s, read-only=%t, keep-size=%t", match.String(), options.ReadOnly, options.KeepSize),
	}
	if len(access) > 0 {
		step.Arguments += fmt.Sprintf(", access=%v", access)
	}
	return node.Run(ctx, n, step, func(ctx context.Context, target string) (*api.StageDiskResponse, error) {
		device, err := m.StageAttached(ctx, match, target, options)
		if err != nil {
			return nil, err
		}
		size, err := m.SizeOf(ctx, target)
		return &api.StageDiskResponse{DiskNumber: device.Disk, VolumeId: device.Volume, DiskBytes: size.Disk,
			TotalBytes: size.FileSystem, Access: api.AccessResult(device.Access)}, err
	})
}

// accessOf returns the entries of an access list.
func accessOf(access []stepwise.Access) ([]win32.AccessEntry, error) {
	masks := map[stepwise.Rights]uint32{stepwise.RightsRead: node.AccessRead, stepwise.RightsModify: node.AccessModify,
		stepwise.RightsFull: node.AccessFull}
	var list []node.Access
	for _, a := range access {
		list = append(list, node.Access{SID: a.SID, Mask: masks[a.Rights]})
	}
	return node.ParseAccess(list)
}

func addAccess(n *node.Node) func(context.Context, string, []stepwise.Access) (stepwise.AccessResult, error) {
	return func(ctx context.Context, volume string, access []stepwise.Access) (stepwise.AccessResult, error) {
		entries, err := accessOf(access)
		if err != nil {
			return 0, err
		}
		result, err := n.Volumes.AddAccess(ctx, volume, entries)
		return stepwise.AccessResult(result), err
	}
}

// stageShare records the users of a share in the agent's own directory, for all drivers.
func stageShare(ctx context.Context, n *node.Node, m *stepwise.Mounter,
	r *api.StageShareRequest) (*api.StageShareResponse, error) {
	if n.Records() == "" {
		return nil, &errdefs.Error{Class: errdefs.FailedPrecondition, Reason: reason.NoRecords,
			Message: "this agent cannot record the users of a share: it has no directory for records; see its log"}
	}
	if err := shortTexts(r.GetRemotePath()); err != nil {
		return nil, err
	}
	if _, err := n.ParsePath(r.GetTargetPath()); err != nil { // before anything is made
		return nil, err
	}
	shares, err := sharesOf(n, m)
	if err != nil {
		return nil, err
	}
	credentials := stepwise.Credentials{User: r.GetUsername(), Password: r.GetPassword()}
	step := node.Composite{
		Verb: "StageShare", Target: r.GetTargetPath(), Arguments: r.GetRemotePath(), User: r.GetUsername(),
		Password: node.Secret(r.GetPassword()),
	}
	r.Password = "" // its memory cannot be wiped, but nothing refers to it once the step has run
	return node.Run(ctx, n, step, func(ctx context.Context, target string) (*api.StageShareResponse, error) {
		return &api.StageShareResponse{}, shares.Stage(ctx, r.GetRemotePath(), target, credentials)
	})
}

// unstage records what it is about to do, so that another call can end it.
func unstage(ctx context.Context, n *node.Node, m *stepwise.Mounter, target string) error {
	if n.Records() == "" {
		return m.UnmountDevice(ctx, target)
	}
	shares, err := sharesOf(n, m)
	if err != nil {
		return err
	}
	return shares.UnstageAny(ctx, target)
}

// maxText is more than a disk's marks, a target's name and a share's path have, in bytes.
const maxText = 4096

// shortTexts returns an error if one of the texts of a request is so long that it can mean nothing: it would be in
// every line of the log about the step, and in its error.
func shortTexts(texts ...string) error {
	for _, text := range texts {
		if len(text) > maxText {
			return &errdefs.Error{
				Class: errdefs.InvalidArgument, Reason: reason.InvalidArgument,
				Message: fmt.Sprintf("a text of the request has %d bytes, and may have %d", len(text), maxText),
			}
		}
	}
	return nil
}

// sharesOf returns the shares with the agent's records, and makes their directory.
func sharesOf(n *node.Node, m *stepwise.Mounter) (*stepwise.Shares, error) {
	dir := n.Records()
	if err := fileowner.MakeDirectory(dir); err != nil {
		return nil, &errdefs.Error{Class: errdefs.FailedPrecondition, Reason: reason.NoRecords,
			Message: "making the directory of the agent's records: " + err.Error(), Err: err}
	}
	return m.Shares(dir), nil
}

// beforeDeadline returns a context that ends early enough for an answer to reach the caller.
func beforeDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	const most = 2 * time.Second
	return context.WithDeadline(ctx, deadline.Add(-min(most, time.Until(deadline)/10)))
}

// matchOf returns the match of a request.
func matchOf(r *api.StageDiskRequest) (match stepwise.Match) {
	switch disk := r.GetDisk().(type) {
	case *api.StageDiskRequest_DiskNumber:
		match = stepwise.ByNumber(disk.DiskNumber)
	case *api.StageDiskRequest_SerialNumber:
		match = stepwise.BySerialNumber(disk.SerialNumber)
	case *api.StageDiskRequest_Page83Id:
		match = stepwise.ByPage83(disk.Page83Id)
	case *api.StageDiskRequest_Lun:
		match = stepwise.ByLUN(disk.Lun)
	case *api.StageDiskRequest_AzureLun:
		match = stepwise.ByAzureLUN(disk.AzureLun)
	case *api.StageDiskRequest_EbsVolumeId:
		match = stepwise.ByEBSVolume(disk.EbsVolumeId)
	case *api.StageDiskRequest_GceDeviceName:
		match = stepwise.ByGCEDevice(disk.GceDeviceName)
	case *api.StageDiskRequest_Eui64:
		match = stepwise.ByEUI64(disk.Eui64)
	case *api.StageDiskRequest_VsphereUuid:
		match = stepwise.ByVSphereUUID(disk.VsphereUuid)
	case *api.StageDiskRequest_Model:
		match = stepwise.ByModel(disk.Model)
	case *api.StageDiskRequest_IscsiDisk:
		at := disk.IscsiDisk
		match = stepwise.ByISCSI(at.GetTargetAddress(), at.GetTargetPort(), at.GetIqn(), at.GetLun())
	}
	return match
}

func getVolume(ctx context.Context, n *node.Node, m *stepwise.Mounter,
	r *api.GetVolumeRequest) (*api.GetVolumeResponse, error) {
	target, err := n.ParsePath(r.GetTargetPath())
	if err != nil {
		return nil, err
	}
	condition, err := m.Condition(ctx, target)
	if err != nil {
		return nil, err
	}
	response := &api.GetVolumeResponse{Abnormal: condition.Abnormal, Message: condition.Message,
		Reason: condition.Reason()}
	// An abnormal volume may have no size; that of a share is left to GetUsage.
	device, err := m.DeviceOf(ctx, target)
	response.VolumeId = device.Volume
	if err != nil {
		return response, nil //nolint:nilerr // the condition is what was asked for
	}
	if usage, err := m.Usage(ctx, target); err == nil {
		response.TotalBytes, response.UsedBytes = usage.Total, usage.Used
	}
	return response, nil
}

// A stepFailure is the class of a failure that package stepwise finds itself.
type stepFailure struct {
	kind   error
	class  errdefs.Class
	reason string
}

func stepFailures() []stepFailure {
	return []stepFailure{
		{calls.ErrAmbiguous, errdefs.FailedPrecondition, reason.AmbiguousDisk},
		{calls.ErrNotFormatted, errdefs.FailedPrecondition, reason.NotFormatted},
		{calls.ErrDiskTooSmall, errdefs.OutOfRange, reason.DiskTooSmall},
		{calls.ErrOtherVolumeMounted, errdefs.FailedPrecondition, reason.OtherVolumeMounted},
		{calls.ErrPathExists, errdefs.AlreadyExists, reason.PathExists},
		{calls.ErrDiskNotFound, errdefs.NotFound, reason.DiskNotFound},
		{calls.ErrVolumeNotFound, errdefs.NotFound, reason.VolumeNotFound},
		{calls.ErrNoVolume, errdefs.FailedPrecondition, reason.NoVolume},
		{fs.ErrNotExist, errdefs.NotFound, reason.PathNotFound},
		{fs.ErrInvalid, errdefs.InvalidArgument, reason.InvalidArgument},
	}
}

// stepError gives a failure that package stepwise found itself a class. Those of the inner calls have one.
func stepError(err error) error {
	var ours *errdefs.Error
	if err == nil || errors.As(err, &ours) {
		return err
	}
	var call *calls.Error
	inner := errors.As(err, &call)
	for _, e := range stepFailures() {
		if errors.Is(err, e.kind) && (!inner || !errors.Is(call, e.kind)) {
			return &errdefs.Error{Class: e.class, Reason: e.reason, Message: err.Error(), Err: err}
		}
	}
	return err
}
