// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"context"
	"errors"
	"fmt"

	diskapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
)

// Disk gives access to the disks of a machine.
type Disk struct {
	hostAPI hostAPI
}

// hostAPI is the part of diskapi.HostAPI that every HostAPI has. Those that were written for v2.0.0-alpha.1 lack the
// calls of readOnlyAPI.
type hostAPI interface {
	ListDiskLocations() (map[uint32]diskapi.DiskLocation, error)
	IsDiskInitialized(diskNumber uint32) (bool, error)
	InitializeDisk(diskNumber uint32) error
	BasicPartitionsExist(diskNumber uint32) (bool, error)
	CreateBasicPartition(diskNumber uint32) error
	Rescan() error
	ListDiskIDs() (map[uint32]diskapi.DiskIDs, error)
	GetDiskStats(diskNumber uint32) (int64, error)
	SetDiskState(diskNumber uint32, isOnline bool) error
	GetDiskState(diskNumber uint32) (bool, error)
}

type readOnlyAPI interface {
	SetDiskReadOnly(diskNumber uint32, isReadOnly bool) error
	GetDiskReadOnly(diskNumber uint32) (bool, error)
}

// Interface has the methods of Disk.
type Interface interface {
	// GetDiskReadOnly reports whether a disk is read-only.
	GetDiskReadOnly(context.Context, *GetDiskReadOnlyRequest) (*GetDiskReadOnlyResponse, error)
	// GetDiskState reports whether a disk is online.
	GetDiskState(context.Context, *GetDiskStateRequest) (*GetDiskStateResponse, error)
	// GetDiskStats returns the size of a disk.
	GetDiskStats(context.Context, *GetDiskStatsRequest) (*GetDiskStatsResponse, error)
	// ListDiskIDs returns the identities of all disks, by number.
	ListDiskIDs(context.Context, *ListDiskIDsRequest) (*ListDiskIDsResponse, error)
	// ListDiskLocations returns the SCSI addresses of the disks that have one, by number.
	ListDiskLocations(context.Context, *ListDiskLocationsRequest) (*ListDiskLocationsResponse, error)
	// PartitionDisk makes a disk ready for one data volume. A partitioned disk is left alone.
	PartitionDisk(context.Context, *PartitionDiskRequest) (*PartitionDiskResponse, error)
	// Rescan makes Windows look for disks that came, went or grew, and returns when Windows has done so.
	Rescan(context.Context, *RescanRequest) (*RescanResponse, error)
	// SetDiskReadOnly makes a disk read-only or writable, whether it is online or not.
	SetDiskReadOnly(context.Context, *SetDiskReadOnlyRequest) (*SetDiskReadOnlyResponse, error)
	// SetDiskState brings a disk online or takes it offline. A disk that is already in that state stays so.
	SetDiskState(context.Context, *SetDiskStateRequest) (*SetDiskStateResponse, error)
}

var _ Interface = (*Disk)(nil)

// New returns the disks of a machine. It takes a HostAPI, or one that was written for v2.0.0-alpha.1.
func New(host hostAPI) (*Disk, error) {
	if host == nil {
		return nil, errors.New("disk.New needs a HostAPI")
	}
	return &Disk{hostAPI: host}, nil
}

// within returns the machine for a call; a HostAPI of ours takes the call's context.
func (d *Disk) within(ctx context.Context) hostAPI {
	if own, ok := d.hostAPI.(diskapi.DiskAPI); ok {
		return own.WithContext(ctx)
	}
	return d.hostAPI
}

// ListDiskLocations returns the SCSI addresses of the disks that have one, by number.
func (d *Disk) ListDiskLocations(ctx context.Context, _ *ListDiskLocationsRequest) (*ListDiskLocationsResponse, error) {
	locations, err := d.within(ctx).ListDiskLocations()
	if err != nil {
		return &ListDiskLocationsResponse{}, err
	}
	r := &ListDiskLocationsResponse{DiskLocations: make(map[uint32]*DiskLocation, len(locations))}
	for number, l := range locations {
		r.DiskLocations[number] = &DiskLocation{Adapter: l.Adapter, Bus: l.Bus, Target: l.Target, LUNID: l.LUNID}
	}
	return r, nil
}

// PartitionDisk makes a disk ready for one data volume: a partition table, and one partition over the free space. A
// disk that has a partition is left alone, and one that holds anything else is refused.
func (d *Disk) PartitionDisk(ctx context.Context, request *PartitionDiskRequest) (*PartitionDiskResponse, error) {
	if own, ok := d.hostAPI.(diskapi.DiskAPI); ok {
		return &PartitionDiskResponse{}, own.WithContext(ctx).PartitionDisk(request.DiskNumber)
	}
	for _, step := range []struct {
		done func(uint32) (bool, error)
		do   func(uint32) error
	}{
		{d.hostAPI.IsDiskInitialized, d.hostAPI.InitializeDisk},
		{d.hostAPI.BasicPartitionsExist, d.hostAPI.CreateBasicPartition},
	} {
		done, err := step.done(request.DiskNumber)
		if err == nil && !done {
			err = step.do(request.DiskNumber)
		}
		if err != nil {
			return &PartitionDiskResponse{}, err
		}
	}
	return &PartitionDiskResponse{}, nil
}

// Rescan makes Windows look for disks that came, went or grew, and returns when Windows has done so.
func (d *Disk) Rescan(ctx context.Context, _ *RescanRequest) (*RescanResponse, error) {
	return &RescanResponse{}, d.within(ctx).Rescan()
}

// ListDiskIDs returns the identities of all disks, by number.
func (d *Disk) ListDiskIDs(ctx context.Context, _ *ListDiskIDsRequest) (*ListDiskIDsResponse, error) {
	all, err := d.within(ctx).ListDiskIDs()
	if err != nil {
		return &ListDiskIDsResponse{}, err
	}
	r := &ListDiskIDsResponse{DiskIDs: make(map[uint32]*DiskIDs, len(all))}
	for number, ids := range all {
		r.DiskIDs[number] = &DiskIDs{Page83: ids.Page83, SerialNumber: ids.SerialNumber}
	}
	return r, nil
}

// GetDiskStats returns the size of a disk.
func (d *Disk) GetDiskStats(ctx context.Context, request *GetDiskStatsRequest) (*GetDiskStatsResponse, error) {
	total, err := d.within(ctx).GetDiskStats(request.DiskNumber)
	return &GetDiskStatsResponse{TotalBytes: total}, err
}

// SetDiskState brings a disk online or takes it offline. A disk that is already in that state stays so.
func (d *Disk) SetDiskState(ctx context.Context, request *SetDiskStateRequest) (*SetDiskStateResponse, error) {
	return &SetDiskStateResponse{}, d.within(ctx).SetDiskState(request.DiskNumber, request.IsOnline)
}

// GetDiskState reports whether a disk is online.
func (d *Disk) GetDiskState(ctx context.Context, request *GetDiskStateRequest) (*GetDiskStateResponse, error) {
	online, err := d.within(ctx).GetDiskState(request.DiskNumber)
	return &GetDiskStateResponse{IsOnline: online}, err
}

// SetDiskReadOnly makes a disk read-only or writable, whether it is online or not. A disk that is so already stays so.
func (d *Disk) SetDiskReadOnly(ctx context.Context, request *SetDiskReadOnlyRequest) (*SetDiskReadOnlyResponse, error) {
	host, err := d.readOnly(ctx)
	if err == nil {
		err = host.SetDiskReadOnly(request.DiskNumber, request.IsReadOnly)
	}
	return &SetDiskReadOnlyResponse{}, err
}

// GetDiskReadOnly reports whether a disk is read-only.
func (d *Disk) GetDiskReadOnly(ctx context.Context, request *GetDiskReadOnlyRequest) (*GetDiskReadOnlyResponse, error) {
	host, err := d.readOnly(ctx)
	if err != nil {
		return &GetDiskReadOnlyResponse{}, err
	}
	is, err := host.GetDiskReadOnly(request.DiskNumber)
	return &GetDiskReadOnlyResponse{IsReadOnly: is}, err
}

// readOnly returns the machine for a call of the read-only attribute.
func (d *Disk) readOnly(ctx context.Context) (readOnlyAPI, error) {
	host, ok := d.within(ctx).(readOnlyAPI)
	if !ok {
		return nil, fmt.Errorf("%T has neither SetDiskReadOnly nor GetDiskReadOnly: %w", d.hostAPI, errors.ErrUnsupported)
	}
	return host, nil
}
