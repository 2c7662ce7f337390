// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"context"
	"errors"
	"io/fs"

	api "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/calls"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/client/stepwise"
)

// The steps in one call. Each function reports whether the agent did the step: one that does not serve the group
// nodesteps, or that has a policy from before there was one, is asked for the single calls instead.

// served reports whether an agent that answered with a failure does steps in one call for this client. If not, nothing
// has been done, or what has been done is done again without harm.
func served(err error) bool {
	return !errors.Is(err, calls.ErrUnsupported) && !errors.Is(err, calls.ErrNoAgent) &&
		!calls.HasReason(err, reason.Policy)
}

// stageInOneCall leaves to the single calls what no request can say, such as a match of the driver's own.
func (m *Mounter) stageInOneCall(ctx context.Context, match stepwise.Match, target string,
	options stepwise.StageOptions) (_ stepwise.Device, done bool, err error) {
	described := match.Request()
	if described == nil {
		return stepwise.Device{}, false, nil
	}
	request := &api.StageDiskRequest{Disk: described.GetDisk(), TargetPath: target,
		ReadOnly: options.ReadOnly, KeepSize: options.KeepSize}
	for _, a := range options.Access {
		request.Access = append(request.Access, &api.AccessEntry{Sid: a.SID, Rights: api.AccessRights(a.Rights)})
	}
	answer, err := m.client.NodeSteps.StageDisk(ctx, request)
	// the agent waits for it until the call's deadline, and answers just before
	if errors.Is(err, calls.ErrDiskNotFound) {
		err = errors.Join(context.DeadlineExceeded, err)
	}
	return stepwise.Device{Disk: answer.GetDiskNumber(), Volume: answer.GetVolumeId()}, served(err), err
}

// unstageInOneCall leaves to the single calls what a mounter decides that sees kubelet's directory: the agent does not
// look there.
func (m *Mounter) unstageInOneCall(ctx context.Context, target string) (done bool, err error) {
	if m.seesKubelet {
		return false, nil
	}
	_, err = m.client.NodeSteps.Unstage(ctx, &api.UnstageRequest{TargetPath: target})
	return served(err), err
}

func (m *Mounter) expandInOneCall(ctx context.Context, path string, bytes int64) (_ stepwise.Size, done bool,
	err error) {
	answer, err := m.client.NodeSteps.Expand(ctx, &api.ExpandRequest{TargetPath: path, SizeBytes: bytes})
	size := stepwise.Size{Disk: answer.GetDiskBytes(), FileSystem: answer.GetTotalBytes()}
	if errors.Is(err, calls.ErrDiskTooSmall) {
		size, _ = m.SizeOf(ctx, path) // for people: the error says the same
	}
	return size, served(err), err
}

func (m *Mounter) conditionInOneCall(ctx context.Context, path string) (_ stepwise.Condition, done bool, err error) {
	answer, err := m.client.NodeSteps.GetVolume(ctx, &api.GetVolumeRequest{TargetPath: path})
	if errors.Is(err, calls.ErrPathNotFound) {
		return stepwise.Condition{}, true, &fs.PathError{Op: "look at", Path: path, Err: fs.ErrNotExist}
	}
	condition := stepwise.Condition{Abnormal: answer.GetAbnormal(), Message: answer.GetMessage()}
	if condition.Abnormal {
		condition.Cause = stepwise.CauseOf(answer.GetReason())
	}
	return condition, served(err), err
}

func (m *Mounter) usageInOneCall(ctx context.Context, path string) (_ stepwise.Usage, done bool, err error) {
	answer, err := m.client.NodeSteps.GetUsage(ctx, &api.GetUsageRequest{TargetPath: path})
	usage := stepwise.Usage{Total: answer.GetTotalBytes(), Used: answer.GetUsedBytes(),
		Available: answer.GetAvailableBytes()}
	return usage, served(err), err
}
