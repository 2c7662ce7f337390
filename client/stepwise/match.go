// SPDX-License-Identifier: Apache-2.0

package stepwise

import (
	"context"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"

	api "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/calls"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
)

// A Match picks disks of a node by what a cloud or a storage system knows of them. A match should pick the same disk
// when it is new and when it holds data, because staging is repeated. The zero value is an error.
type Match struct {
	what    string // of a disk: "LUN 3"
	err     error  // the argument makes no sense
	fits    func(Disk) bool
	request *api.StageDiskRequest // has the match as its disk; nil: no request can say it
	// among asks the agent for more about the disks that fit; it may be nil.
	refine func(context.Context, *Mounter, []Disk) ([]Disk, error)
	// ofAgent: only the agent can look for the disk.
	ofAgent bool
}

// String returns what the match looks for.
func (x Match) String() string { return x.what }

// Where returns a match of a driver's own. The phrase what is for errors, such as "LUN 3".
func Where(what string, fits func(Disk) bool) Match { return Match{what: what, fits: fits} }

// Request returns a request that has the match as its disk; nil: no request can say it.
func (x Match) Request() *api.StageDiskRequest { return x.request }

// OfAgent reports whether only the agent can look for the disk.
func (x Match) OfAgent() bool { return x.ofAgent }

// withRequest returns the match with its form in requests.
func (x Match) withRequest(request *api.StageDiskRequest) Match {
	x.request = request
	return x
}

// ByNumber picks the disk with a number, which changes when disks come and go.
func ByNumber(number uint32) Match {
	return Where(fmt.Sprintf("number %d", number), func(d Disk) bool { return d.Number == number }).
		withRequest(&api.StageDiskRequest{Disk: &api.StageDiskRequest_DiskNumber{DiskNumber: number}})
}

// invalidMatch returns a match that fails with fs.ErrInvalid.
func invalidMatch(format string, args ...any) Match {
	what := fmt.Sprintf(format, args...)
	return Match{what: what, err: fmt.Errorf("%w: %s", fs.ErrInvalid, what)}
}

// ByLUN picks disks by their logical unit number, on any bus that has one: SCSI, SAS, RAID, Fibre Channel and iSCSI.
// Disks that Windows needs and those beside the system disk have no LUN in the agent's answer, nor have NVMe disks, so
// that none of them is found. On a node with disks of several storage systems, a LUN alone may be another one's: see
// ByAzureLUN and ByISCSI, or write a Where.
func ByLUN(lun uint32) Match {
	text := strconv.FormatUint(uint64(lun), 10)
	return Where("LUN "+text, func(d Disk) bool { return d.LUN == text }).
		withRequest(&api.StageDiskRequest{Disk: &api.StageDiskRequest_Lun{Lun: lun}})
}

// hyperV are the beginnings of the page 83h identifiers that Hyper-V makes for its virtual SCSI disks: of the kind T10,
// with the vendor "MSFT    " before 16 bytes, and of the kind NAA, with Microsoft's number 002248.
var hyperV = []string{"4d53465420202020", "6002248"}

// ByAzureLUN picks the disk that Azure attached with a LUN: one of a virtual SCSI adapter of Hyper-V, which Windows
// calls SAS or SCSI, and no disk with the same LUN that is reached by iSCSI or Fibre Channel. The API names no bus, so
// a disk is known by its page 83h identifier; one that Windows' own iSCSI target serves has Microsoft's vendor in it,
// too. Azure's driver takes any disk with that LUN, but for those at adapter 0 and those with an MBR.
//
// On sizes with NVMe alone the disk is a namespace of Azure's NVMe controller: see azureNVMeLUN. Only an agent that
// serves nodesteps finds it, when it stages; for FindDisk and WaitForDisk of a driver it is not there.
//
// Source: azuredisk-csi-driver, FindDiskByLun in pkg/mounter, ListDiskLocations in pkg/os/disk.
func ByAzureLUN(lun uint32) Match {
	text := strconv.FormatUint(uint64(lun), 10)
	x := Where(fmt.Sprintf("Azure's LUN %d", lun), func(d Disk) bool {
		ofHyperV := slices.ContainsFunc(hyperV, func(begin string) bool { return strings.HasPrefix(d.Page83, begin) })
		return d.LUN == text && ofHyperV || d.LUN == ""
	}).withRequest(&api.StageDiskRequest{Disk: &api.StageDiskRequest_AzureLun{AzureLun: lun}})
	x.refine = func(ctx context.Context, m *Mounter, disks []Disk) ([]Disk, error) {
		scsi := slices.DeleteFunc(slices.Clone(disks), func(d Disk) bool { return d.LUN == "" })
		if len(scsi) > 0 || m.agent.DiskDevices == nil {
			return scsi, nil
		}
		devices, err := m.agent.DiskDevices(ctx)
		return slices.DeleteFunc(disks, func(d Disk) bool {
			of, ok := azureNVMeLUN(devices[d.Number])
			return !ok || of != lun
		}), err
	}
	return x
}

// BySerialNumber picks disks whose serial number contains a text, in upper or lower case.
func BySerialNumber(part string) Match {
	if part == "" {
		return invalidMatch("the serial number to look for is empty")
	}
	lower := strings.ToLower(part)
	return Where(fmt.Sprintf("serial number %q", part),
		func(d Disk) bool { return strings.Contains(strings.ToLower(d.SerialNumber), lower) }).
		withRequest(&api.StageDiskRequest{Disk: &api.StageDiskRequest_SerialNumber{SerialNumber: part}})
}

// ByPage83 picks disks by the whole page 83h identifier.
func ByPage83(id string) Match {
	if id == "" {
		return invalidMatch("the page 83h identifier to look for is empty")
	}
	return Where(fmt.Sprintf("page 83h identifier %q", id), func(d Disk) bool { return d.Page83 == id }).
		withRequest(&api.StageDiskRequest{Disk: &api.StageDiskRequest_Page83Id{Page83Id: id}})
}

var ebsVolume = regexp.MustCompile(`^vol-?([0-9a-f]+)$`)

// ByEBSVolume picks the disk of an EBS volume by the volume's id, such as vol-0123456789abcdef0. The serial number is
// the id without its dash, on NVMe followed by the namespace and a dot: vol0123456789abcdef0_00000001. The driver looks
// for the id anywhere in it; this match wants it whole, as an old, short id may be the beginning of another.
//
// Source: aws-ebs-csi-driver, FindDevicePath in pkg/mounter.
func ByEBSVolume(volumeID string) Match {
	parts := ebsVolume.FindStringSubmatch(strings.ToLower(volumeID))
	if parts == nil {
		return invalidMatch("EBS volume id %q does not look like vol-0123456789abcdef0", volumeID)
	}
	return Where("EBS volume "+volumeID, func(d Disk) bool {
		serial, _, _ := strings.Cut(strings.ToLower(d.SerialNumber), "_")
		return strings.TrimSuffix(serial, ".") == "vol"+parts[1]
	}).withRequest(&api.StageDiskRequest{Disk: &api.StageDiskRequest_EbsVolumeId{EbsVolumeId: volumeID}})
}

// ByGCEDevice picks the SCSI disk of Compute Engine that was attached with a device name: the last word of its page 83h
// identifier, such as "Google  persistent-disk-0". For disks with the interface NVMe see ByEUI64.
//
// Source: gcp-compute-persistent-disk-csi-driver, getDiskNumberLegacy in pkg/mount-manager.
func ByGCEDevice(name string) Match {
	if len(strings.Fields(name)) != 1 {
		return invalidMatch("device name %q is not one word", name)
	}
	return Where(fmt.Sprintf("device name %q", name), func(d Disk) bool {
		words := strings.Fields(d.Page83)
		return len(words) > 0 && words[len(words)-1] == name
	}).withRequest(&api.StageDiskRequest{Disk: &api.StageDiskRequest_GceDeviceName{GceDeviceName: name}})
}

// ByEUI64 picks the NVMe disk whose namespace has an EUI-64. Compute Engine gives the number as nvmeNamespaceIdentifier
// in the metadata of a machine's disks. It is the first half of the 16 bytes that Windows makes the serial number of,
// such as 10CC_9636_B6E3_CE3B_0000_0000_0000_0000., or that a page 83h identifier has after "eui.".
//
// Source: gcp-compute-persistent-disk-csi-driver, extractEUIFromDiskInfo, convertSerialToEUI and convertEUIToDecimal in
// pkg/mount-manager.
func ByEUI64(id uint64) Match {
	if id == 0 {
		return invalidMatch("an EUI-64 of 0 means that the namespace has none")
	}
	want := fmt.Sprintf("%016x", id)
	return Where("EUI-64 "+want, func(d Disk) bool {
		digits, ok := strings.CutPrefix(d.Page83, "eui.")
		if !ok {
			digits = strings.ReplaceAll(strings.TrimSuffix(d.SerialNumber, "."), "_", "")
		}
		return (len(digits) == len(want) || len(digits) == 2*len(want)) && strings.EqualFold(digits[:len(want)], want)
	}).withRequest(&api.StageDiskRequest{Disk: &api.StageDiskRequest_Eui64{Eui64: id}})
}

// ByVSphereUUID picks the virtual disk of vSphere with a UUID, such as 6000C29a-98d0-5e38-4a43-f0ef189aaf5a. Its page
// 83h identifier is the UUID in lower case without blanks and hyphens, if the machine has disk.EnableUUID.
//
// Source: vsphere-csi-driver, GetDiskNumber in pkg/csi/service/mounter and FormatDiskUUID in pkg/csi/service/common.
func ByVSphereUUID(uuid string) Match {
	plain := strings.ToLower(strings.NewReplacer("-", "", " ", "").Replace(uuid))
	if len(plain) != 32 || strings.Trim(plain, "0123456789abcdef") != "" {
		return invalidMatch("disk UUID %q does not have 32 hexadecimal digits", uuid)
	}
	return Where("disk UUID "+uuid, func(d Disk) bool { return d.Page83 == plain }).
		withRequest(&api.StageDiskRequest{Disk: &api.StageDiskRequest_VsphereUuid{VsphereUuid: uuid}})
}

// ByISCSI picks the logical unit of an iSCSI target to which the node is connected. Address and port are those of the
// portal; port 0 is 3260. While the node is not connected there is no such disk.
func ByISCSI(address string, port uint32, iqn string, lun uint32) Match {
	x := ByLUN(lun).withRequest(&api.StageDiskRequest{Disk: &api.StageDiskRequest_IscsiDisk{
		IscsiDisk: &api.ISCSIDisk{TargetAddress: address, TargetPort: port, Iqn: iqn, Lun: lun},
	}})
	x.what = fmt.Sprintf("LUN %d of target %s at %s", lun, iqn, address)
	x.refine = func(ctx context.Context, m *Mounter, disks []Disk) ([]Disk, error) {
		answer, err := m.client.ISCSI.GetTargetDisks(ctx, &calls.GetTargetDisksRequest{
			TargetPortal: &calls.TargetPortal{TargetAddress: address, TargetPort: port}, Iqn: iqn,
		})
		return slices.DeleteFunc(disks, func(d Disk) bool {
			return !slices.Contains(answer.GetDiskIDs(), strconv.FormatUint(uint64(d.Number), 10))
		}), err
	}
	return x
}

// ByBlankSize picks disks of exactly this size, in bytes, that have no partition table, for labs whose disks have no
// other marks. An offline disk is not picked: the API shows its partitions only when it is online. Once the disk is
// staged it is not blank any more, so a driver finds it with FindDisk once, and later by its serial number or at its
// target.
func ByBlankSize(bytes int64) Match {
	x := Where(fmt.Sprintf("%d bytes and no partition table", bytes), func(Disk) bool { return true })
	x.refine = func(ctx context.Context, m *Mounter, disks []Disk) ([]Disk, error) {
		var blank []Disk
		for _, d := range disks {
			stats, err := m.client.Disk.GetDiskStats(ctx, &calls.GetDiskStatsRequest{DiskNumber: d.Number})
			if err == nil && stats.GetTotalBytes() == bytes {
				_, err = m.client.Volume.ListVolumesOnDisk(ctx,
					&calls.ListVolumesOnDiskRequest{DiskNumber: d.Number, PartitionNumber: 1})
				if calls.HasReason(err, reason.DiskRaw) {
					blank = append(blank, d)
				}
			}
			if ctx.Err() != nil || isAny(err, calls.ErrNoAgent, calls.ErrUnsupported) {
				return nil, err // not this disk's failure
			}
		}
		return blank, nil
	}
	return x
}

// pick returns the disks that match.
func (x Match) pick(ctx context.Context, m *Mounter, disks []Disk) ([]Disk, error) {
	if x.err == nil && x.fits == nil {
		x.err = fmt.Errorf("%w: the zero Match", fs.ErrInvalid)
	}
	if x.err != nil {
		return nil, x.err
	}
	found := slices.DeleteFunc(slices.Clone(disks), func(d Disk) bool { return !x.fits(d) })
	if x.refine == nil || len(found) == 0 {
		return found, nil
	}
	return x.refine(ctx, m, found)
}
