// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	iscsi "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	api "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
)

// A match picks disks of a node by what a cloud or a storage system knows of them.
type match struct {
	what string // of a disk: "LUN 3"
	fits func(foundDisk) bool
	luns bool // fits looks at LUNs
	// instead names the mark for a disk on a bus where this mark does not count, "" where it does; nil: on all buses.
	instead func(busType uint32) string
	// among chooses among the disks that fit; it may be nil.
	among func(context.Context, *Node, []foundDisk) ([]foundDisk, error)
}

func invalidMatch(format string, args ...any) (match, error) {
	return match{}, errdefs.InvalidArgument.Errorf(reason.InvalidArgument, format, args...)
}

// matchOf returns the match of a request by another mark than the number.
func matchOf(r *api.StageDiskRequest) (match, error) {
	switch disk := r.GetDisk().(type) {
	case *api.StageDiskRequest_SerialNumber:
		return bySerialNumber(disk.SerialNumber)
	case *api.StageDiskRequest_Page83Id:
		return byPage83(disk.Page83Id)
	case *api.StageDiskRequest_Lun:
		return byLUN(disk.Lun)
	case *api.StageDiskRequest_AzureLun:
		return byAzureLUN(disk.AzureLun)
	case *api.StageDiskRequest_EbsVolumeId:
		return byEBSVolume(disk.EbsVolumeId)
	case *api.StageDiskRequest_GceDeviceName:
		return byGCEDevice(disk.GceDeviceName)
	case *api.StageDiskRequest_Eui64:
		return byEUI64(disk.Eui64)
	case *api.StageDiskRequest_VsphereUuid:
		return byVSphereUUID(disk.VsphereUuid)
	case *api.StageDiskRequest_Model:
		return byModel(disk.Model)
	case *api.StageDiskRequest_IscsiDisk:
		return byISCSI(disk.IscsiDisk)
	}
	return invalidMatch("the request describes no disk")
}

// bySerialNumber picks disks by their whole serial number, in upper or lower case.
func bySerialNumber(number string) (match, error) {
	want := strings.TrimSpace(number)
	if want == "" {
		return invalidMatch("the serial number to look for is empty")
	}
	return match{what: fmt.Sprintf("serial number %q", number), instead: noISCSI,
		fits: func(d foundDisk) bool { return hasSerial(d, want) }}, nil
}

func byPage83(id string) (match, error) {
	if id == "" {
		return invalidMatch("the page 83h identifier to look for is empty")
	}
	return match{what: fmt.Sprintf("page 83h identifier %q", id), instead: noISCSI,
		fits: func(d foundDisk) bool { return d.ids.Page83 == id }}, nil
}

// byLUN picks disks by their logical unit number, if ListDiskLocations lets drivers find the disk by it.
func byLUN(lun uint32) (match, error) {
	if lun > maxLUN {
		return invalidMatch("no disk has LUN %d: Windows gives one byte", lun)
	}
	text := strconv.FormatUint(uint64(lun), 10)
	return match{what: "LUN " + text, luns: true, instead: noISCSI,
		fits: func(d foundDisk) bool { return d.lun == text }}, nil
}

const maxLUN = 255 // SCSI_ADDRESS

// hyperV are the prefixes of the page 83h identifiers of Hyper-V's virtual SCSI disks: T10 with the vendor "MSFT    ",
// and NAA with Microsoft's number 002248.
var hyperV = []string{"4d53465420202020", "6002248"}

// byAzureLUN picks the disk that Azure attached with a LUN: one of a virtual SCSI adapter of Hyper-V, which Windows
// calls SAS or SCSI, and no disk with the same LUN that is reached by iSCSI or Fibre Channel. It is known by its page
// 83h identifier; a disk that Windows' own iSCSI target serves has Microsoft's vendor in it, too. Azure's driver takes
// any disk with that LUN, but for those at adapter 0 and those with an MBR. On sizes with NVMe alone the disk is a
// namespace of Azure's NVMe controller: see azureNVMeLUN.
//
// Source: azuredisk-csi-driver, FindDiskByLun in pkg/mounter, ListDiskLocations in pkg/os/disk.
func byAzureLUN(lun uint32) (match, error) {
	m, err := byLUN(lun)
	if err != nil {
		return match{}, err
	}
	scsi := m.fits
	m.what, m.instead = fmt.Sprintf("Azure's LUN %d", lun), cloudsBuses
	m.fits = func(d foundDisk) bool {
		ofHyperV := slices.ContainsFunc(hyperV, func(begin string) bool { return strings.HasPrefix(d.ids.Page83, begin) })
		of, ok := azureNVMeLUN(d)
		return scsi(d) && ofHyperV || d.lun == "" && ok && of == lun
	}
	m.among = func(_ context.Context, _ *Node, disks []foundDisk) ([]foundDisk, error) {
		scsi := slices.DeleteFunc(slices.Clone(disks), func(d foundDisk) bool { return d.lun == "" })
		if len(scsi) > 0 {
			return scsi, nil
		}
		return disks, nil
	}
	return m, nil
}

// azureRemote is the device path of a namespace of Azure's controller for the system disk and data disks, of the model
// "MSFT NVMe Accelerator v1.0"; local disks have other controllers. The last digits are the LUN of its SCSI address.
var azureRemote = regexp.MustCompile(`^\\\\\?\\scsi#disk&ven_nvme&prod_msft_nvme_accel[^#]*#[^#]*&0000([0-9a-f]{2})#`)

// azureNVMeLUN returns the LUN with which Azure attached an NVMe disk. It is one less than the LUN that Windows gives
// the namespace, as the system disk comes first. Windows gives it in the SCSI address; where that is 0 for all disks,
// only the device path has it. Published code reads the path's digits as decimal, and they look hexadecimal: without an
// address, only digits that mean the same in both count, those of the LUNs 0 to 8.
//
// Sources: Microsoft's "FAQ for remote NVMe disks" (enable-nvme-remote-faqs): "The SCSI logical unit has the value for
// the portal-visible LUN ID incremented by 1"; azuredisk-csi-driver, getNVMeLunFromPath in pkg/os/disk, and its pull
// request 3632 for addresses that say 0; azure-vm-utils, 80-azure-disk.rules, for Linux: namespace 1 is the system
// disk, LUN n is namespace n+2.
func azureNVMeLUN(d foundDisk) (lun uint32, ok bool) {
	parts := azureRemote.FindStringSubmatch(strings.ToLower(d.path))
	if parts == nil {
		return 0, false
	}
	address, _ := strconv.ParseUint(d.address.LUNID, 10, 8) // a number, or none
	asHex, _ := strconv.ParseUint(parts[1], 16, 8)
	asDecimal, err := strconv.ParseUint(parts[1], 10, 8)
	switch {
	case address != 0 && (address == asHex || err == nil && address == asDecimal):
		return uint32(address) - 1, true
	case address == 0 && asHex != 0 && err == nil && asHex == asDecimal:
		return uint32(asHex) - 1, true
	}
	return 0, false
}

var ebsVolume = regexp.MustCompile(`^vol-?([0-9a-f]+)$`)

// byEBSVolume picks the disk of an EBS volume by the volume's id. The serial number is the id without its dash, on NVMe
// followed by the namespace: see hasSerial. The driver looks for the id anywhere in it; this wants it whole, as an old,
// short id may be the beginning of another.
//
// Source: aws-ebs-csi-driver, FindDevicePath in pkg/mounter.
func byEBSVolume(id string) (match, error) {
	parts := ebsVolume.FindStringSubmatch(strings.ToLower(id))
	if parts == nil {
		return invalidMatch("EBS volume id %q does not look like vol-0123456789abcdef0", id)
	}
	return match{what: "EBS volume " + id, instead: cloudsBuses,
		fits: func(d foundDisk) bool { return hasSerial(d, "vol"+parts[1]) }}, nil
}

// byGCEDevice picks the SCSI disk of Compute Engine that was attached with a device name: the second word of its page
// 83h identifier, such as "Google  persistent-disk-0", after the vendor.
//
// Source: gcp-compute-persistent-disk-csi-driver, getDiskNumberLegacy in pkg/mount-manager.
func byGCEDevice(name string) (match, error) {
	if words := strings.Fields(name); len(words) != 1 || words[0] != name {
		return invalidMatch("device name %q is not one word", name)
	}
	return match{what: fmt.Sprintf("device name %q", name), instead: cloudsBuses, fits: func(d foundDisk) bool {
		words := strings.Fields(d.ids.Page83)
		return len(words) == 2 && words[0] == "Google" && words[1] == name
	}}, nil
}

// byEUI64 picks the NVMe disk whose namespace has an EUI-64. It is the first half of the 16 bytes that Windows makes
// the serial number of, such as 10CC_9636_B6E3_CE3B_0000_0000_0000_0000., or that a page 83h identifier has after
// "eui."; the second half is zero, or the whole would be another identifier.
//
// Source: gcp-compute-persistent-disk-csi-driver, extractEUIFromDiskInfo, convertSerialToEUI and convertEUIToDecimal in
// pkg/mount-manager.
func byEUI64(id uint64) (match, error) {
	if id == 0 {
		return invalidMatch("an EUI-64 of 0 means that the namespace has none")
	}
	want := fmt.Sprintf("%016x", id)
	return match{what: "EUI-64 " + want, instead: cloudsBuses, fits: func(d foundDisk) bool {
		digits, ok := strings.CutPrefix(d.ids.Page83, "eui.")
		if !ok {
			digits = strings.ReplaceAll(strings.TrimSuffix(d.ids.SerialNumber, "."), "_", "")
		}
		return strings.EqualFold(digits, want) || strings.EqualFold(digits, want+strings.Repeat("0", len(want)))
	}}, nil
}

// byVSphereUUID picks the virtual disk of vSphere with a UUID, such as 6000C29a-98d0-5e38-4a43-f0ef189aaf5a. Its page
// 83h identifier is the UUID in lower case without blanks and hyphens, if the machine has disk.EnableUUID.
//
// Source: vsphere-csi-driver, GetDiskNumber in pkg/csi/service/mounter and FormatDiskUUID in pkg/csi/service/common.
func byVSphereUUID(uuid string) (match, error) {
	plain := strings.ToLower(strings.NewReplacer("-", "", " ", "").Replace(uuid))
	if len(plain) != 32 || strings.Trim(plain, "0123456789abcdef") != "" {
		return invalidMatch("disk UUID %q does not have 32 hexadecimal digits", uuid)
	}
	return match{what: "disk UUID " + uuid, instead: cloudsBuses,
		fits: func(d foundDisk) bool { return d.ids.Page83 == plain }}, nil
}

// shortModel is the length of a product in SCSI's inquiry data, to which Windows before 10.0.19041 and some drivers cut
// the 40 characters of an NVMe model.
//
// https://learn.microsoft.com/windows-hardware/drivers/install/identifiers-for-scsi-devices
const shortModel = 16

// localModels are the clouds' local disks whose model says the same when it is cut. Other models that begin alike are
// of different disks.
//
// Sources: the page "Map NVMe disks on Amazon EC2 Windows instance to volumes" of the EC2 user guide, whose script
// looks for PROD_AMAZON_EC2_NVME in device paths; azure-vm-utils, 80-azure-disk.rules.
var localModels = []string{
	"amazon ec2 nvme instance storage", "microsoft nvme direct disk", "microsoft nvme direct disk v2",
}

// byModel picks disks by their whole model, in upper or lower case, for the local disks of a cloud's machine.
func byModel(model string) (match, error) {
	want := strings.ToLower(strings.TrimSpace(model))
	if want == "" {
		return invalidMatch("the model to look for is empty")
	}
	models := []string{want}
	if slices.Contains(localModels, want) {
		models = append(models, strings.TrimSpace(want[:shortModel]))
	}
	return match{what: fmt.Sprintf("model %q", model), instead: cloudsBuses,
		fits: func(d foundDisk) bool { return slices.Contains(models, strings.ToLower(d.model)) }}, nil
}

// byISCSI picks the logical unit of an iSCSI target to which the node is connected.
func byISCSI(at *api.ISCSIDisk) (match, error) {
	if _, err := parsePortal(&iscsi.TargetPortal{TargetAddress: at.GetTargetAddress(),
		TargetPort: at.GetTargetPort()}); err != nil {
		return match{}, err
	}
	target, err := parseTargetName(at.GetIqn())
	if err != nil {
		return match{}, err
	}
	m, err := byLUN(at.GetLun())
	if err != nil {
		return match{}, err
	}
	m.instead = nil // the initiator says which disks are the target's
	m.what = fmt.Sprintf("LUN %d of target %s at %s", at.GetLun(), at.GetIqn(), at.GetTargetAddress())
	m.among = func(ctx context.Context, n *Node, disks []foundDisk) ([]foundDisk, error) {
		numbers, err := n.ISCSI.disksOf(ctx, target)
		return slices.DeleteFunc(disks, func(d foundDisk) bool { return !slices.Contains(numbers, d.number) }), err
	}
	return m, nil
}
