// SPDX-License-Identifier: Apache-2.0

package disk

import (
	"context"
	"errors"
	"fmt"

	diskapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/disk/hostapi"
)

// readOnlyAPI is what a HostAPI of ours has besides those of diskapi.HostAPI; a driver's own may have it.
type readOnlyAPI interface {
	SetDiskReadOnly(diskNumber uint32, isReadOnly bool) error
	GetDiskReadOnly(diskNumber uint32) (bool, error)
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

// The API has no calls for the read-only attribute; these are the requests and responses of the library's own.
type (
	// SetDiskReadOnlyRequest names the disk and its new state.
	SetDiskReadOnlyRequest struct {
		DiskNumber uint32
		IsReadOnly bool
	}

	// SetDiskReadOnlyResponse has no fields.
	SetDiskReadOnlyResponse struct{}

	// GetDiskReadOnlyRequest names the disk.
	GetDiskReadOnlyRequest struct {
		DiskNumber uint32
	}

	// GetDiskReadOnlyResponse has the attribute of the disk.
	GetDiskReadOnlyResponse struct {
		IsReadOnly bool
	}
)

// ReadOnly has the methods of Disk for the read-only attribute. They are not in Interface, which drivers implement in
// their tests as it was released.
type ReadOnly interface {
	SetDiskReadOnly(context.Context, *SetDiskReadOnlyRequest) (*SetDiskReadOnlyResponse, error)
	GetDiskReadOnly(context.Context, *GetDiskReadOnlyRequest) (*GetDiskReadOnlyResponse, error)
}

var _ ReadOnly = (*Disk)(nil)

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
