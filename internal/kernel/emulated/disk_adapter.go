// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// AdapterSpec is a storage adapter in a scenario. The adapters of disks need not be listed.
type AdapterSpec struct {
	Number  uint8   `yaml:"adapter" json:"adapter"`
	BusType BusType `yaml:"busType" json:"busType"` // 0 is SCSI
}

// adapters returns the storage adapters by number: those of the scenario, and those that disks are attached to.
func (n *Node) adapters() []AdapterSpec {
	all := slices.Clone(n.state.Adapters)
	for _, d := range n.diskList() {
		all = append(all, AdapterSpec{d.record.Adapter, d.record.BusType})
	}
	for i := range all {
		all[i].BusType = cmp.Or(all[i].BusType, win32.BusTypeScsi)
	}
	sort.SliceStable(all, func(i, j int) bool { return all[i].Number < all[j].Number })
	return slices.CompactFunc(all, func(a, b AdapterSpec) bool { return a.Number == b.Number })
}

// interfacePath returns the device interface path of the adapter (GUID_DEVINTERFACE_STORAGEPORT).
func (a AdapterSpec) interfacePath() string {
	return fmt.Sprintf(`\\?\pci#ven_emulated&dev_adapter#%d#{2accfe60-c130-11d2-b082-00a0c91efb8b}`, a.Number)
}

func (a AdapterSpec) portName() string { return fmt.Sprintf(`\\.\scsi%d:`, a.Number) }

// adapterHandle is an open adapter.
type adapterHandle struct {
	device
	adapter AdapterSpec
}

// DeviceIoControl implements kernel.Handle.
func (h *adapterHandle) DeviceIoControl(code uint32, in, out []byte) (int, error) {
	return h.control(code, func() (int, error) {
		switch code {
		case win32.IOCTL_SCSI_RESCAN_BUS:
			return 0, nil // disks appear and disappear at once
		case win32.IOCTL_STORAGE_QUERY_PROPERTY:
			return h.adapter.queryProperty(in, out)
		}
		return 0, win32.ERROR_INVALID_FUNCTION
	})
}

func (a AdapterSpec) queryProperty(in, out []byte) (int, error) {
	query, err := parsed(win32.ParseStoragePropertyQuery(in))
	if err != nil {
		return 0, err
	}
	if query.PropertyID != win32.StorageAdapterProperty || query.QueryType != win32.PropertyStandardQuery {
		return 0, win32.ERROR_INVALID_FUNCTION
	}
	return copy(out, win32.StorageAdapter{BusType: uint8(a.BusType)}.Bytes()), nil
}
