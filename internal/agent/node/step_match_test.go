// SPDX-License-Identifier: Apache-2.0

package node

import (
	"strconv"
	"testing"
)

// TestAzureNVMeLUN has the device paths of azuredisk-csi-driver's pull request 3632, with the SCSI addresses that
// Microsoft's "FAQ for remote NVMe disks" shows or with none, and what must not be taken for a data disk of Azure.
func TestAzureNVMeLUN(t *testing.T) {
	const class = "#{53f56307-b6bf-11d0-94f2-00a0c91efb8b}"
	const remote = `\\?\scsi#disk&ven_nvme&prod_msft_nvme_accele#6&ca10229&0&`
	const none = -1
	for _, test := range []struct {
		name, path string
		address    uint8
		want       int
	}{
		{"the system disk", remote + "000000" + class, 0, none},
		{"LUN 0", remote + "000001" + class, 0, 0},
		{"LUN 8", remote + "000009" + class, 0, 8},
		{"LUN 0 in the address, too", remote + "000001" + class, 1, 0},
		{"in other case", `\\?\SCSI#Disk&Ven_NVMe&Prod_MSFT_NVMe_Accele#6&ca10229&0&000002` + class, 0, 1},
		{"a longer model", `\\?\scsi#disk&ven_nvme&prod_msft_nvme_accelerator_v1.0#6&1&0&000003` + class, 0, 2},
		{"hexadecimal or decimal, not known", remote + "000010" + class, 0, none},
		{"a hexadecimal digit, which the driver does not read", remote + "00000a" + class, 0, none},
		{"hexadecimal by the address", remote + "000010" + class, 16, 15},
		{"decimal by the address", remote + "000010" + class, 10, 9},
		{"path and address differ", remote + "000002" + class, 1, none},
		{"another target", remote + "000101" + class, 0, none},
		{"a local disk", `\\?\scsi#disk&ven_nvme&prod_microsoft_nvme_d#6&ca10229&0&000001` + class, 1, none},
		{"another cloud's", `\\?\scsi#disk&ven_nvme&prod_amazon_elastic_b#6&ca10229&0&000001` + class, 1, none},
		{"SCSI", `\\?\scsi#disk&ven_msft&prod_virtual_disk#5&23db5f40&0&000001` + class, 1, none},
		{"no path", "", 1, none},
	} {
		got := none
		at := DiskLocation{LUNID: strconv.Itoa(int(test.address))}
		if lun, ok := azureNVMeLUN(foundDisk{path: test.path, address: at}); ok {
			got = int(lun)
		}
		if got != test.want {
			t.Errorf("%s: got LUN %d, want %d", test.name, got, test.want)
		}
	}
}
