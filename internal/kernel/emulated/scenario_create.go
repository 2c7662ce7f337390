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

// creatingFile exists from the first change of an empty directory until node.json exists. If the process dies between
// them, there is no node yet, and it is made again.
const creatingFile = "creating"

// create makes the node of the scenario in a directory without a node.
func (h *host) create(dir string, s Scenario) (state, error) {
	if err := s.Check(); err != nil {
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
	made := state{
		Switches: s.Switches, SystemSerial: s.SystemSerial, Services: serviceStates(s.Services),
		SMB: newSMBState(s.SMBServers, s.SMBUsers), ISCSI: newISCSIState(s.ISCSI),
	}
	var err error
	if made.Disks, err = s.disks(); err != nil {
		return state{}, err
	}
	for _, record := range made.Disks {
		if err := h.placeImage(dir, record); err != nil {
			return state{}, fmt.Errorf("disk %d: %w", record.Number, err)
		}
	}
	c, err := h.createNTFSDisk(dir, made.Disks[0])
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
	if err := h.createShares(dir, made.SMB); err != nil {
		return state{}, err
	}
	return made, h.saveState(dir, made)
}

// extent is the place of a new partition, in bytes.
type extent struct {
	kind     guid.GUID
	name     string
	from, to uint64
}

// minFormattedBytes leaves room for a volume after the reserved partition.
const minFormattedBytes = 64 << 20

// createNTFSDisk writes the tables of a disk that has been in use, or of disk 0 as Windows Setup makes them: the reserved
// partitions and, after them, a basic data partition with a boot sector. It returns that partition's volume.
func (h *host) createNTFSDisk(dir string, record diskState) (guid.GUID, error) {
	const mib = 1 << 20
	reserved := []extent{{win32.PartitionMSR, msrName, mib, 16 * mib}}
	if record.System {
		reserved = []extent{
			{win32.PartitionEFISystem, "EFI system partition", mib, 101 * mib}, {win32.PartitionMSR, msrName, 101 * mib, 117 * mib},
		}
	}
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
