// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/Microsoft/go-winio/pkg/guid"

	"github.com/kubernetes-csi/csi-proxy/internal/gpt"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// Scenario is what a new node is made of. Disk 0, the system disk with drive C, comes by itself.
type Scenario struct {
	Switches     Switches
	SystemSerial string     // of the SMBIOS system information
	SystemDisk   DiskSpec   // disk 0; always online and writable
	Disks        []DiskSpec // disks 1, 2 and so on
	Directories  []string   // Windows paths on drive C that exist from the start
	Services     []ServiceSpec
	SMBServers   []SMBServerSpec
	SMBUsers     []SMBUserSpec
	ISCSI        []ISCSIPortalSpec
}

// DefaultScenario is the node that Open makes when nothing else is asked for: a system disk of 64 GiB, a blank online
// disk of 10 GiB and a blank offline one of 20 GiB, and the directories that a kubelet makes.
func DefaultScenario() Scenario {
	naa := []byte("\x60\x02\x24\x80EMU-DISK0001")
	return Scenario{
		Switches:     DefaultSwitches(),
		SystemSerial: "EMU-0000-0001",
		SystemDisk:   DiskSpec{SizeBytes: 64 << 30, SerialNumber: "EMU-DISK-0000", Adapter: 1},
		Disks: []DiskSpec{
			{
				SizeBytes: 10 << 30, SerialNumber: "vol0123456789abcdef1", LUN: 1,
				Identifiers: []win32.StorageIdentifier{{
					CodeSet: win32.StorageIdCodeSetBinary, Type: win32.StorageIdTypeFCPHName,
					Association: win32.StorageIdAssocDevice, Identifier: naa,
				}},
			},
			{
				SizeBytes: 20 << 30, SerialNumber: "vol0123456789abcdef2", LUN: 2, Offline: true,
				Identifiers: []win32.StorageIdentifier{{
					CodeSet: win32.StorageIdCodeSetAscii, Type: win32.StorageIdTypeVendorId,
					Association: win32.StorageIdAssocDevice, Identifier: []byte("EMULATED  disk-2"),
				}},
			},
		},
		Directories: []string{`C:\Windows\System32`, `C:\var\lib\kubelet\plugins`, `C:\var\lib\kubelet\pods`},
		Services:    defaultServices(),
		SMBServers:  []SMBServerSpec{{Name: "fs.emulated", Shares: []SMBShareSpec{{Name: "share"}, {Name: "other"}}}},
		SMBUsers:    []SMBUserSpec{{Name: "csi", Domains: []string{"EMULATED", "AZURE"}, Password: "csi-password"}},
		ISCSI:       defaultISCSI(),
	}
}

// creatingFile is there from the first change of an empty directory until node.json exists: what a death leaves
// between them is no node yet and is made again.
const creatingFile = "creating"

// create makes the node of the scenario in a directory that holds none.
func (h *host) create(dir string, s Scenario) (state, error) {
	if err := s.Switches.check(); err != nil {
		return state{}, fmt.Errorf("switches: %w", err)
	}
	services := serviceStates(s.Services)
	if err := services.check(); err != nil {
		return state{}, err
	}
	if err := h.writeFile(filepath.Join(dir, creatingFile), []byte("This node is not complete. The next start makes it again.\n")); err != nil {
		return state{}, err
	}
	for _, name := range []string{disksDir, detachedDir, volumesDir, sharesDir} {
		if err := h.removeAll(filepath.Join(dir, name)); err != nil {
			return state{}, err
		}
		if err := h.mkdir(filepath.Join(dir, name)); err != nil {
			return state{}, err
		}
	}
	made := state{Switches: s.Switches, SystemSerial: s.SystemSerial, Services: services}
	for i, spec := range append([]DiskSpec{s.SystemDisk}, s.Disks...) {
		record, err := spec.record(made.Disks)
		if err != nil {
			return state{}, fmt.Errorf("disk %d: %w", i, err)
		}
		record.System = i == 0
		if record.Offline && s.Switches.OfflineDisksReadOnly {
			record.ReadOnly = true
		}
		if err := h.createImage(dir, record.Image, spec.SizeBytes); err != nil {
			return state{}, err
		}
		if spec.Formatted {
			if err := h.createDataDisk(dir, record); err != nil {
				return state{}, fmt.Errorf("disk %d: %w", i, err)
			}
		}
		made.Disks = append(made.Disks, record)
	}
	c, err := h.createSystemDisk(dir, made.Disks[0])
	if err != nil {
		return state{}, fmt.Errorf("disk 0: %w", err)
	}
	made.Letters = []letterState{{Letter: "C", Volume: c}}
	for _, path := range s.Directories {
		p, err := directoryOnC(path)
		if err != nil {
			return state{}, err
		}
		host := filepath.Join(append([]string{contentPath(dir, c)}, p.names...)...)
		if err := errors.Join(h.step("mkdir"), os.MkdirAll(host, 0o755)); err != nil {
			return state{}, err
		}
	}
	made.ISCSI = newISCSIState(s.ISCSI)
	if err := made.ISCSI.check(); err != nil {
		return state{}, err
	}
	if made.SMB, err = newSMBState(s.SMBServers, s.SMBUsers); err != nil {
		return state{}, err
	}
	if err := h.createShares(dir, made.SMB); err != nil {
		return state{}, err
	}
	return made, h.saveState(dir, made)
}

// directoryOnC reads the path of a directory that is to be on drive C.
func directoryOnC(path string) (ntPath, error) {
	p, err := parseWin32(path)
	if err != nil || p.letter != 'C' {
		return ntPath{}, fmt.Errorf("directory %q is not one of drive C", path)
	}
	return p, nil
}

// extent is where a partition is made, in bytes.
type extent struct {
	kind     guid.GUID
	name     string
	from, to uint64
}

// createSystemDisk writes the tables of disk 0 as Windows' set-up makes them, and the boot sector of drive C, whose
// volume it returns.
func (h *host) createSystemDisk(dir string, record diskState) (guid.GUID, error) {
	const mib = 1 << 20
	return h.createNTFSDisk(dir, record,
		extent{win32.PartitionEFISystem, "EFI system partition", mib, 101 * mib},
		extent{win32.PartitionMSR, msrName, 101 * mib, 117 * mib},
	)
}

// minFormattedBytes leaves a volume on a disk after the reserved partition.
const minFormattedBytes = 64 << 20

// createDataDisk writes the tables of a disk that has been in use: the reserved partition and a volume with NTFS.
func (h *host) createDataDisk(dir string, record diskState) error {
	const mib = 1 << 20
	_, err := h.createNTFSDisk(dir, record, extent{win32.PartitionMSR, msrName, mib, 16 * mib})
	return err
}

// createNTFSDisk writes tables with the reserved partitions and, behind them, a basic data partition, which gets a boot sector and
// whose volume it returns.
func (h *host) createNTFSDisk(dir string, record diskState, reserved ...extent) (guid.GUID, error) {
	const mib = 1 << 20
	im, err := h.openImage(dir, record.Image)
	if err != nil {
		return guid.GUID{}, err
	}
	defer im.file.Close()
	sector := uint64(record.SectorSize)
	t, err := gpt.New(newGUID(), int(sector), im.size)
	if err != nil {
		return guid.GUID{}, err
	}
	add := func(p extent, attributes uint64) {
		t.Partitions = append(t.Partitions, gpt.Partition{
			Slot: len(t.Partitions), Type: p.kind, ID: newGUID(), Name: p.name, Attributes: attributes,
			First: p.from / sector, Last: p.to/sector - 1,
		})
	}
	from := uint64(mib)
	for _, p := range reserved {
		add(p, win32.GPT_BASIC_DATA_ATTRIBUTE_NO_DRIVE_LETTER)
		from = p.to
	}
	add(extent{win32.PartitionBasicData, "Basic data partition", from, (t.LastUsable + 1) * sector / mib * mib}, 0)
	if err := t.Check(); err != nil {
		return guid.GUID{}, err
	}
	last := t.Partitions[len(t.Partitions)-1]
	v := volume{offset: int64(last.First * sector)}
	blocks := append(t.Encode(), v.bootBlocks(newNTFS(record.SectorSize, last.Sectors(), newSerial()))...)
	return last.ID, im.commit(change{blocks: blocks})
}
