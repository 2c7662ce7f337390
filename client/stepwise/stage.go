// SPDX-License-Identifier: Apache-2.0

package stepwise

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/client/calls"
)

// StageOptions adjust how a disk is staged. The zero value stages a volume to be written.
type StageOptions struct {
	// ReadOnly stages without partitioning, formatting or growing anything: a disk without a file system is
	// csiproxy.ErrNotFormatted. A disk that is offline is brought online. Windows has no read-only mounts: the container
	// runtime must enforce the rest.
	ReadOnly bool
	// KeepSize leaves a volume that is smaller than its disk as it is.
	KeepSize bool
	// Access is added to the access list of the root directory of a volume that holds nothing yet; Device.Access says
	// whether it is in the list. Only an agent that serves the group nodesteps can do that; with others, and with a Match
	// of Where, it is csiproxy.ErrUnsupported.
	Access []Access
}

// Access is what an account may do in the root directory of a new volume and in all that is made there later.
type Access struct {
	SID    string // S-1-5-93-2-2 is ContainerUser
	Rights Rights
}

// Rights are a set of rights. The zero value is not valid.
type Rights int32

// The sets of rights, with the names that icacls has for them.
const (
	RightsRead   Rights = 1 + iota // RX: list, read and run
	RightsModify                   // M: also make, write and delete
	RightsFull                     // F: also change access lists and owners
)

// AccessResult is what became of StageOptions.Access. The zero value: nothing was asked for, or the volume is staged
// read-only.
type AccessResult int32

// The values of AccessResult.
const (
	AccessAdded    AccessResult = 1 + iota // they are in the list now, and at least one was not before
	AccessPresent                          // they were in the list
	AccessNotAdded                         // at least one is not in the list, because the volume holds files
)

// StageAttached mounts the data volume of the one disk that matches at target. It partitions a blank disk, brings it
// online, formats a blank volume with NTFS, makes the directory, mounts, and extends a volume that is smaller than its
// disk. It does not wait: if no disk matches, that is csiproxy.ErrDiskNotFound. Nothing is overwritten, and what was
// done before is not done again.
func (m *Mounter) StageAttached(ctx context.Context, match Match, target string, options StageOptions) (Device, error) {
	disk, err := m.FindDisk(ctx, match)
	if err != nil {
		return Device{}, err
	}
	return m.StageFound(ctx, disk, target, options)
}

// StageFound is StageAttached for a disk that was found.
func (m *Mounter) StageFound(ctx context.Context, disk Disk, target string, options StageOptions) (Device, error) {
	if m.agent.Means != nil {
		ctx = m.agent.Means(ctx, disk)
	}
	return m.stage(ctx, disk.Number, WindowsPath(target), options, func() error { return m.same(ctx, disk) })
}

// MountDisk is StageAttached for a disk whose number the caller knows, and answers for: it looks at no marks.
func (m *Mounter) MountDisk(ctx context.Context, disk uint32, target string) error {
	_, err := m.stage(ctx, disk, WindowsPath(target), StageOptions{}, func() error { return nil })
	return err
}

// stage stages a disk. Same returns an error if the number means another disk by now.
func (m *Mounter) stage(ctx context.Context, disk uint32, target string, options StageOptions,
	same func() error) (Device, error) {
	there, err := m.at(ctx, target)
	if err != nil {
		return Device{}, fmt.Errorf("looking at %s: %w", target, err)
	}
	if there.Volume != "" && !there.gone && there.Disk != disk {
		return Device{}, fmt.Errorf("%w: a volume of disk %d is mounted at %s, not one of disk %d",
			calls.ErrOtherVolumeMounted, there.Disk, target, disk)
	}
	var volumes []string
	if err = same(); err == nil {
		volumes, err = m.volumesOf(ctx, disk, options.ReadOnly, same)
	}
	if err == nil {
		err = same() // from here on, the volume's id says which disk is meant
	}
	if err != nil {
		return Device{}, fmt.Errorf("staging disk %d at %s: %w", disk, target, err)
	}
	volume := volumes[0]
	switch {
	case slices.Contains(volumes, there.Volume):
		volume = there.Volume
	case len(volumes) > 1 && m.agent.DataVolume != nil:
		if volume, err = m.agent.DataVolume(ctx, disk); err != nil {
			return Device{}, err
		}
	}
	if err := m.format(ctx, volume, options.ReadOnly); err != nil {
		return Device{}, fmt.Errorf("staging disk %d at %s: %w", disk, target, err)
	}
	// Before the mount, so that no workload has written anything. A repeated call finds the root still empty.
	var access AccessResult
	if m.agent.AddAccess != nil && len(options.Access) > 0 && !options.ReadOnly {
		if access, err = m.agent.AddAccess(ctx, volume, options.Access); err != nil {
			return Device{}, err
		}
	}
	if there.gone && there.Volume != volume {
		if _, err := m.unmountVolume(ctx, there.Volume, target); err != nil {
			return Device{}, fmt.Errorf("unmounting a volume that has gone from %s: %w", target, err)
		}
	}
	if err := m.Mkdir(ctx, target); err != nil {
		return Device{}, err
	}
	if _, err := m.client.Volume.MountVolume(ctx,
		&calls.MountVolumeRequest{VolumeId: volume, TargetPath: target}); err != nil {
		return Device{}, err
	}
	if !options.ReadOnly && !options.KeepSize {
		err = m.fill(ctx, volume)
	}
	return Device{Disk: disk, Volume: volume, Access: access}, err
}

// volumesOf returns the volumes of a disk, data volumes first, after making what is missing.
func (m *Mounter) volumesOf(ctx context.Context, disk uint32, readOnly bool, same func() error) ([]string, error) {
	online := false
	if readOnly { // bringing a disk online makes it writable as well
		state, err := m.client.Disk.GetDiskState(ctx, &calls.GetDiskStateRequest{DiskNumber: disk})
		if err != nil && !errors.Is(err, calls.ErrUnsupported) {
			return nil, err
		}
		online = state.GetIsOnline()
	} else if _, err := m.client.Disk.PartitionDisk(ctx, &calls.PartitionDiskRequest{DiskNumber: disk}); err != nil {
		return nil, err
	}
	if !online {
		if err := same(); err != nil { // another disk must not become writable
			return nil, err
		}
		_, err := m.client.Disk.SetDiskState(ctx, &calls.SetDiskStateRequest{DiskNumber: disk, IsOnline: true})
		if err != nil && !errors.Is(err, calls.ErrUnsupported) { // old agents bring a disk online as they partition it
			return nil, err
		}
	}
	answer, err := m.client.Volume.ListVolumesOnDisk(ctx, &calls.ListVolumesOnDiskRequest{DiskNumber: disk})
	if err == nil && len(answer.GetVolumeIds()) == 0 {
		err = fmt.Errorf("%w: disk %d has none", calls.ErrNoVolume, disk)
	}
	if readOnly && errors.Is(err, calls.ErrNoVolume) {
		err = fmt.Errorf("%w: %w", calls.ErrNotFormatted, err)
	}
	return answer.GetVolumeIds(), err
}

// format formats a volume that has no file system, unless it is staged read-only.
func (m *Mounter) format(ctx context.Context, volume string, readOnly bool) error {
	formatted, err := m.client.Volume.IsVolumeFormatted(ctx, &calls.IsVolumeFormattedRequest{VolumeId: volume})
	if err != nil || formatted.GetFormatted() {
		return err
	}
	if readOnly {
		return fmt.Errorf("%w: volume %s", calls.ErrNotFormatted, volume)
	}
	_, err = m.client.Volume.FormatVolume(ctx, &calls.FormatVolumeRequest{VolumeId: volume})
	return err
}

// fill grows a volume as far as its disk allows.
func (m *Mounter) fill(ctx context.Context, volume string) error {
	_, err := m.client.Volume.ResizeVolume(ctx, &calls.ResizeVolumeRequest{VolumeId: volume})
	return err
}
