// SPDX-License-Identifier: Apache-2.0

package stepwise

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	api "github.com/kubernetes-csi/csi-proxy/client/api/nodesteps/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/client/calls"
)

// A DiskDevice is what Windows' drivers say of a disk beside its marks in the API.
type DiskDevice struct {
	Model string // older versions of Windows give 16 characters
	Path  string // of its device interface
	LUN   uint8  // of its SCSI address: 0 for most NVMe disks
}

// shortModel is the length of a product in SCSI's inquiry data, to which Windows before 10.0.19041 and some drivers cut
// the 40 characters of an NVMe model.
//
// https://learn.microsoft.com/windows-hardware/drivers/install/identifiers-for-scsi-devices
const shortModel = 16

// ByModel picks disks by their whole model, in upper or lower case, for the local disks of a cloud's machine:
// "Amazon EC2 NVMe Instance Storage", "Microsoft NVMe Direct Disk v2". A machine often has several, which only their
// serial numbers tell apart. Where Windows gives 16 characters of the model those must do.
//
// An agent that serves nodesteps looks for the disk; with others, and for FindDisk, it is csiproxy.ErrUnsupported.
//
// Sources: the page "Map NVMe disks on Amazon EC2 Windows instance to volumes" of the EC2 user guide, whose script
// looks for PROD_AMAZON_EC2_NVME in device paths; azure-vm-utils, 80-azure-disk.rules.
func ByModel(model string) Match {
	want := strings.TrimSpace(model)
	if want == "" {
		return invalidMatch("the model to look for is empty")
	}
	short := strings.TrimSpace(want[:min(len(want), shortModel)])
	x := Where(fmt.Sprintf("model %q", model), func(Disk) bool { return true }).
		withRequest(&api.StageDiskRequest{Disk: &api.StageDiskRequest_Model{Model: model}})
	x.ofAgent = true
	x.refine = func(ctx context.Context, m *Mounter, disks []Disk) ([]Disk, error) {
		if m.agent.DiskDevices == nil {
			return nil, fmt.Errorf("%w: the API does not have the model of a disk; an agent that serves nodesteps finds it",
				calls.ErrUnsupported)
		}
		devices, err := m.agent.DiskDevices(ctx)
		return slices.DeleteFunc(disks, func(d Disk) bool {
			is := devices[d.Number].Model
			return !strings.EqualFold(is, want) && !strings.EqualFold(is, short)
		}), err
	}
	return x
}

// azureRemote is the device path of a namespace of Azure's controller for the system disk and data disks. Its model is
// "MSFT NVMe Accelerator v1.0"; local disks have controllers of other models. The last digits are the LUN of the
// namespace's SCSI address.
var azureRemote = regexp.MustCompile(`^\\\\\?\\scsi#disk&ven_nvme&prod_msft_nvme_accel[^#]*#[^#]*&0000([0-9a-f]{2})#`)

// azureNVMeLUN returns the LUN with which Azure attached an NVMe disk: the LUN that Windows gives the namespace, less
// one, since the system disk comes first. Windows gives it in the SCSI address or, where that says 0 for all disks, in
// the device path only. Of the path, published code reads the digits as decimal, while they look hexadecimal; so a path
// alone does only where both are the same, for the LUNs 0 to 8.
//
// Sources: Microsoft's "FAQ for remote NVMe disks" (enable-nvme-remote-faqs): "The SCSI logical unit has the value for
// the portal-visible LUN ID incremented by 1"; azuredisk-csi-driver, getNVMeLunFromPath in pkg/os/disk, and its pull
// request 3632 for addresses that say 0; azure-vm-utils, 80-azure-disk.rules, for Linux: namespace 1 is the system
// disk, LUN n is namespace n+2.
func azureNVMeLUN(d DiskDevice) (lun uint32, ok bool) {
	parts := azureRemote.FindStringSubmatch(strings.ToLower(d.Path))
	if parts == nil {
		return 0, false
	}
	asHex, _ := strconv.ParseUint(parts[1], 16, 8)
	asDecimal, err := strconv.ParseUint(parts[1], 10, 8)
	switch address := uint64(d.LUN); {
	case address != 0 && (address == asHex || err == nil && address == asDecimal):
		return uint32(d.LUN) - 1, true
	case address == 0 && asHex != 0 && err == nil && asHex == asDecimal:
		return uint32(asHex) - 1, true
	}
	return 0, false
}
