// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"

	"google.golang.org/grpc"

	diskv1 "github.com/kubernetes-csi/csi-proxy/client/api/disk/v1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/machine"
)

// HostAPI gives access to the disks of a machine. Disk numbers are those of Windows.
type HostAPI interface {
	// ListDiskLocations returns the SCSI addresses of the disks that have one.
	ListDiskLocations() (map[uint32]DiskLocation, error)
	// IsDiskInitialized reports whether a disk has a partition table.
	IsDiskInitialized(diskNumber uint32) (bool, error)
	// InitializeDisk gives a blank disk a partition table.
	InitializeDisk(diskNumber uint32) error
	// BasicPartitionsExist reports whether a disk has a partition for data.
	BasicPartitionsExist(diskNumber uint32) (bool, error)
	// CreateBasicPartition makes one partition for data over the free space of a disk.
	CreateBasicPartition(diskNumber uint32) error
	// Rescan makes Windows look for disks that came, went or grew, and returns when Windows has done so.
	Rescan() error
	// ListDiskIDs returns the identities of all disks.
	ListDiskIDs() (map[uint32]DiskIDs, error)
	// GetDiskStats returns the size of a disk in bytes.
	GetDiskStats(diskNumber uint32) (int64, error)
	// SetDiskState brings a disk online or takes it offline.
	SetDiskState(diskNumber uint32, isOnline bool) error
	// GetDiskState reports whether a disk is online.
	GetDiskState(diskNumber uint32) (bool, error)
	// SetDiskReadOnly makes a disk read-only or writable, whether it is online or not.
	SetDiskReadOnly(diskNumber uint32, isReadOnly bool) error
	// GetDiskReadOnly reports whether a disk is read-only.
	GetDiskReadOnly(diskNumber uint32) (bool, error)
}

// DiskLocation is the SCSI address of a disk, each part decimal, "" where it is not known.
type DiskLocation struct {
	Adapter string
	Bus     string
	Target  string
	LUNID   string
}

// DiskIDs are the identities of a disk, "" for one that it does not have.
type DiskIDs struct {
	// Page83 is the first identifier of vital product data page 0x83: text as it is, or bytes in lower-case hex.
	Page83       string
	SerialNumber string
}

// DiskAPI is the HostAPI of this project: each call has the checks, locks and errors of the node. The zero value is
// that of New.
type DiskAPI struct {
	at machine.Place
}

// New returns the machine that the process runs on, which must be a Windows node; off Windows, all calls fail. With
// CSI_PROXY_HOSTAPI=agent in the environment it returns the node of the agent whose pipes the process sees.
func New() DiskAPI { return DiskAPI{} }

// Over returns the node of a client: an emulated node, one that inprocess.Open opened with options, or the agent's.
func Over(client *csiproxy.Client) DiskAPI { return DiskAPI{machine.At(client)} }

// WithContext returns the same machine for calls that end with a context.
func (d DiskAPI) WithContext(ctx context.Context) DiskAPI { return DiskAPI{d.at.Within(ctx)} }

// call makes a call to the API's disk group.
func call[Q, R any](d DiskAPI, method func(diskv1.DiskClient, context.Context, *Q, ...grpc.CallOption) (*R, error),
	request *Q) (*R, error) {
	ctx, client, err := d.at.Client()
	if err != nil {
		return nil, err
	}
	return method(client.Disk, ctx, request)
}
