// SPDX-License-Identifier: Apache-2.0

package mounter

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	api "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
)

// A Match describes one disk by what a cloud or a storage system knows of it. It should describe the disk when it is
// new and when it holds data, because staging is repeated. The zero value is fs.ErrInvalid. A description that makes
// no sense, such as an EBS volume "snap-1", has the code InvalidArgument when the disk is staged.
type Match struct {
	request *api.StageDiskRequest // has the description as its disk, for the agent to look for
	what    string                // of Where, for errors
	fits    func(context.Context, *Mounter, Disk) (bool, error)
}

// ByNumber picks the disk with a number, which changes when disks come and go. It is not waited for.
func ByNumber(number uint32) Match {
	return Match{request: &api.StageDiskRequest{Disk: &api.StageDiskRequest_DiskNumber{DiskNumber: number}}}
}

// BySerialNumber picks the disk with a whole serial number, in upper or lower case, on any bus but iSCSI.
func BySerialNumber(number string) Match {
	return Match{request: &api.StageDiskRequest{Disk: &api.StageDiskRequest_SerialNumber{SerialNumber: number}}}
}

// ByPage83 picks the disk with a whole identifier of SCSI page 83h, on any bus but iSCSI.
func ByPage83(id string) Match {
	return Match{request: &api.StageDiskRequest{Disk: &api.StageDiskRequest_Page83Id{Page83Id: id}}}
}

// ByLUN picks the disk with a logical unit number, on any bus that has one: SCSI, SAS, RAID and Fibre Channel.
// On a node with disks of several storage systems a LUN alone may be another one's: see ByAzureLUN and ByISCSI.
func ByLUN(lun uint32) Match {
	return Match{request: &api.StageDiskRequest{Disk: &api.StageDiskRequest_Lun{Lun: lun}}}
}

// ByAzureLUN picks the disk that Azure attached with a LUN: at a virtual SCSI adapter of Hyper-V or, on sizes with NVMe
// alone, as a namespace of Azure's NVMe controller. No disk at iSCSI or Fibre Channel is taken for it.
func ByAzureLUN(lun uint32) Match {
	return Match{request: &api.StageDiskRequest{Disk: &api.StageDiskRequest_AzureLun{AzureLun: lun}}}
}

// ByEBSVolume picks the disk of an EBS volume by the volume's id, such as vol-0123456789abcdef0.
func ByEBSVolume(volumeID string) Match {
	return Match{request: &api.StageDiskRequest{Disk: &api.StageDiskRequest_EbsVolumeId{EbsVolumeId: volumeID}}}
}

// ByGCEDevice picks the SCSI disk of Compute Engine that was attached with a device name. For disks with the interface
// NVMe see ByEUI64.
func ByGCEDevice(name string) Match {
	return Match{request: &api.StageDiskRequest{Disk: &api.StageDiskRequest_GceDeviceName{GceDeviceName: name}}}
}

// ByEUI64 picks the NVMe disk whose namespace has an EUI-64. Compute Engine gives the number as nvmeNamespaceIdentifier
// in the metadata of a machine's disks.
func ByEUI64(id uint64) Match {
	return Match{request: &api.StageDiskRequest{Disk: &api.StageDiskRequest_Eui64{Eui64: id}}}
}

// ByVSphereUUID picks the virtual disk of vSphere with a UUID, with or without hyphens. The machine must have
// disk.EnableUUID.
func ByVSphereUUID(uuid string) Match {
	return Match{request: &api.StageDiskRequest{Disk: &api.StageDiskRequest_VsphereUuid{VsphereUuid: uuid}}}
}

// ByModel picks the disk with a whole model, in upper or lower case, for the local disks of a cloud's machine: "Amazon
// EC2 NVMe Instance Storage". A machine often has several, which only their serial numbers tell apart.
func ByModel(model string) Match {
	return Match{request: &api.StageDiskRequest{Disk: &api.StageDiskRequest_Model{Model: model}}}
}

// ByISCSI picks the logical unit of an iSCSI target to which the node is connected.
func ByISCSI(d ISCSIDisk) Match {
	return Match{request: &api.StageDiskRequest{Disk: &api.StageDiskRequest_IscsiDisk{
		IscsiDisk: &api.ISCSIDisk{TargetAddress: d.Address, TargetPort: d.Port, Iqn: d.IQN, Lun: d.LUN},
	}}}
}

// Where picks the disk that fits a driver's own description. The mounter looks for it, and the agent refuses to stage a
// disk with another serial number or page 83h identifier. The phrase what is for errors, such as "LUN 3 at adapter 8".
func Where(what string, fits func(Disk) bool) Match {
	return Match{what: what, fits: func(_ context.Context, _ *Mounter, d Disk) (bool, error) { return fits(d), nil }}
}

// ByBlankSize picks the disk of exactly this size, in bytes, that has no partition table, for labs whose disks have no
// other marks. An offline disk is not picked: the API shows its partitions only when it is online. Once the disk is
// staged it is not blank any more, so a driver finds it again by the serial number of Disks.
func ByBlankSize(bytes int64) Match {
	return Match{what: fmt.Sprintf("%d bytes and no partition table", bytes), fits: func(ctx context.Context, m *Mounter,
		d Disk) (bool, error) {
		stats, err := m.client.Disk.GetDiskStats(ctx, &csiproxy.GetDiskStatsRequest{DiskNumber: d.Number})
		if err != nil || stats.GetTotalBytes() != bytes {
			return false, ignored(ctx, err)
		}
		// For a disk without a partition table the call fails, with a reason of its own.
		_, err = m.client.Volume.ListVolumesOnDisk(ctx,
			&csiproxy.ListVolumesOnDiskRequest{DiskNumber: d.Number, PartitionNumber: 1})
		var failure *csiproxy.Error
		if errors.As(err, &failure) && failure.Reason == reason.DiskRaw {
			return true, nil
		}
		return false, ignored(ctx, err)
	}}
}

// ignored drops a failure that is one disk's.
func ignored(ctx context.Context, err error) error {
	if ctx.Err() != nil || isAny(err, csiproxy.ErrNoAgent, csiproxy.ErrUnsupported) {
		return err
	}
	return nil
}

// The pauses between two looks at the disks of the node, and how long to go on looking without a deadline, as long as
// csiproxy.Client gives a call.
const (
	firstLook   = 100 * time.Millisecond
	lastLook    = 2 * time.Second
	longestWait = 2 * time.Minute
)

// describe returns a request with the disk of a match. Of Where it waits for the disk, while it makes Windows look for
// new devices.
func (m *Mounter) describe(ctx context.Context, match Match) (*api.StageDiskRequest, error) {
	switch {
	case match.request != nil:
		return &api.StageDiskRequest{Disk: match.request.GetDisk()}, nil
	case match.fits == nil:
		return nil, fmt.Errorf("%w: the zero Match", fs.ErrInvalid)
	}
	if _, ok := ctx.Deadline(); !ok {
		limited, cancel := context.WithTimeout(ctx, longestWait)
		defer cancel()
		ctx = limited
	}
	for wait := firstLook; ; wait = min(2*wait, lastLook) {
		d, missing := m.find(ctx, match)
		if missing == nil {
			return &api.StageDiskRequest{Disk: &api.StageDiskRequest_DiskNumber{DiskNumber: d.Number}, Expected: d.marks()}, nil
		}
		if !errors.Is(missing, csiproxy.ErrDiskNotFound) {
			return nil, missing
		}
		if _, err := m.client.Disk.Rescan(ctx, &csiproxy.RescanRequest{}); err != nil && ctx.Err() == nil {
			return nil, err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w (%w)", missing, ctx.Err())
		}
	}
}

// find returns the one disk that fits.
func (m *Mounter) find(ctx context.Context, match Match) (Disk, error) {
	disks, err := m.Disks(ctx)
	if err != nil {
		return Disk{}, err
	}
	var found []Disk
	for _, d := range disks {
		fits, err := match.fits(ctx, m, d)
		if err != nil {
			return Disk{}, fmt.Errorf("looking for a disk with %s: %w", match.what, err)
		}
		if fits {
			found = append(found, d)
		}
	}
	switch len(found) {
	case 0:
		return Disk{}, fmt.Errorf("%w: none with %s; the node has the disks %s", csiproxy.ErrDiskNotFound, match.what,
			list(disks))
	case 1:
		return found[0], nil
	}
	return Disk{}, fmt.Errorf("%w: %s: the disks %s", csiproxy.ErrAmbiguous, match.what, list(found))
}

func list(disks []Disk) string {
	var texts []string
	for _, d := range disks {
		texts = append(texts, d.String())
	}
	return strings.Join(texts, "; ")
}
