// SPDX-License-Identifier: Apache-2.0

package staging

import (
	"context"
	"errors"
	"fmt"
	"slices"

	api "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/calls"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/client/stepwise"
)

// StageDisk waits for the one disk that matches and mounts its data volume at target, as NodeStageVolume must. It
// partitions a blank disk, brings it online, formats a blank volume with NTFS, makes the directory, mounts, and extends
// a volume that is smaller than its disk, such as one made from a snapshot. Before it partitions and before it formats,
// it looks again whether the disk is still the one that matched, because another one may have come in its place. An
// agent that serves nodesteps looks through the handle that it then writes to. With others, a disk that comes between
// the look and the call gets a partition table if it is blank. Disks without serial number and page 83h identifier are
// told apart by their location alone.
//
// What was done before is not done again, so a call that failed or was interrupted anywhere can be repeated. A volume
// that is mounted at other directories, too, stays mounted there. A mount point at target whose volume has gone, as
// after a disk was detached by force, is replaced.
//
// Nothing is overwritten by this project's agent; the original's formats a volume whose file system Windows does not
// know. A disk or volume with other content is csiproxy.ErrNotBlank, and a target at which another volume is mounted
// csiproxy.ErrOtherVolumeMounted, before the disk is touched. Other errors are those of WaitForDisk and of the calls.
func (m *Mounter) StageDisk(ctx context.Context, match stepwise.Match, target string,
	options stepwise.StageOptions) (stepwise.Device, error) {
	if described := match.Request(); described != nil { // what no request can say is left to the single calls
		request := &api.StageDiskRequest{Disk: described.GetDisk(), TargetPath: stepwise.WindowsPath(target),
			ReadOnly: options.ReadOnly, KeepSize: options.KeepSize}
		for _, a := range options.Access {
			request.Access = append(request.Access, &api.AccessEntry{Sid: a.SID, Rights: api.AccessRights(a.Rights)})
		}
		answer, err := m.client.NodeSteps.StageDisk(ctx, request)
		// the agent waits for it until the call's deadline, and answers just before
		if errors.Is(err, calls.ErrDiskNotFound) {
			err = errors.Join(context.DeadlineExceeded, err)
		}
		if served(err) {
			return stepwise.Device{Disk: answer.GetDiskNumber(), Volume: answer.GetVolumeId(),
				Access: stepwise.AccessResult(answer.GetAccess())}, err
		}
	}
	if len(options.Access) > 0 {
		return stepwise.Device{}, fmt.Errorf("%w: setting the access list of a new volume", calls.ErrUnsupported)
	}
	disk, err := m.WaitForDisk(ctx, match)
	if err != nil {
		return stepwise.Device{}, err
	}
	return m.StageFound(ctx, disk, target, options)
}

// UnstageDisk is UnmountDevice for the path at which StageDisk mounted a disk, where the driver can still tell which
// disk that is, as from the volume's id. It can be repeated after a failure or a crash anywhere: a disk that is left
// online without being mounted is flushed and taken offline, also when nothing is at the path any more. A disk without
// a partition table is left as it is: there is nothing to lose. A disk that does not match any more has been detached,
// which is success; one that does not answer has not, which is an error. A mounter without WithKubelet does not see
// other paths at which the volume is mounted, so there must be none.
func (m *Mounter) UnstageDisk(ctx context.Context, match stepwise.Match, target string) error {
	if err := m.UnmountDevice(ctx, target); err != nil || match.OfAgent() { // a local disk is not detached
		return err
	}
	disk, err := m.stillThere(ctx, match)
	if errors.Is(err, calls.ErrDiskNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	volumes, err := m.client.Volume.ListVolumesOnDisk(ctx, &calls.ListVolumesOnDiskRequest{DiskNumber: disk.Number})
	switch {
	case errors.Is(err, calls.ErrDiskOffline), errors.Is(err, calls.ErrDiskNotFound),
		err == nil && len(volumes.GetVolumeIds()) == 0:
		return nil
	case err != nil && !errors.Is(err, calls.ErrNoVolume):
		return err
	}
	return m.TakeDiskOffline(ctx, disk, volumes.GetVolumeIds())
}

// stillThere returns the disk that matches. It does not take one for detached whose marks could not be read once, or
// that does not answer: agents leave such marks and disks out of their lists.
func (m *Mounter) stillThere(ctx context.Context, match stepwise.Match) (disk stepwise.Disk, err error) {
	for range 2 {
		if disk, err = m.FindDisk(ctx, match); !errors.Is(err, calls.ErrDiskNotFound) {
			return disk, err
		}
	}
	if unknown := m.allAnswer(ctx); unknown != nil {
		return stepwise.Disk{}, unknown
	}
	return stepwise.Disk{}, err
}

// allAnswer returns an error if a disk that is not in the list of disks fails to answer. Disk numbers are the lowest
// that are free.
func (m *Mounter) allAnswer(ctx context.Context) error {
	disks, err := m.Disks(ctx)
	if err != nil {
		return err
	}
	for number, left := uint32(0), len(disks); ; number++ {
		if slices.ContainsFunc(disks, func(d stepwise.Disk) bool { return d.Number == number }) {
			left--
			continue
		}
		_, err := m.client.Disk.GetDiskState(ctx, &calls.GetDiskStateRequest{DiskNumber: number})
		switch {
		// Windows may keep a disk out of its list, too
		case (err == nil || errors.Is(err, calls.ErrDiskNotFound)) && left > 0:
		case err == nil, errors.Is(err, calls.ErrDiskNotFound):
			return nil
		case errors.Is(err, calls.ErrUnsupported) || calls.HasReason(err, reason.Policy) || calls.WithoutReason(err):
			return nil // this agent says no more
		default:
			return fmt.Errorf("cannot identify disk %d: %w", number, err)
		}
	}
}
