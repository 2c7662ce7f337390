// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"fmt"
	"path/filepath"
	"slices"
)

// creatingFile exists from the first change of an empty directory until node.json exists. If the process dies between
// them, there is no node yet, and it is made again.
const creatingFile = "creating"

// create makes the node of the scenario in a directory without a node.
func (h *host) create(dir string, s Scenario) (state, error) {
	if err := s.Check(); err != nil {
		return state{}, err
	}
	if err := h.writeFile(filepath.Join(dir, creatingFile),
		[]byte("This node is not complete. The next start makes it again.\n")); err != nil {
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
		Adapters: s.Adapters, PageFiles: s.PageFiles, DumpFile: s.DumpFile,
	}
	var err error
	if made.Disks, err = s.disks(); err != nil {
		return state{}, err
	}
	if err := h.placeImages(dir, &made); err != nil {
		return state{}, err
	}
	c := made.Letters[0].Volume
	for _, path := range s.Directories {
		names, err := directoryOnC(path)
		if err != nil {
			return state{}, err
		}
		host := filepath.Join(append([]string{contentPath(dir, c)}, names...)...)
		if err := h.mkdirAll(host, 0o755); err != nil {
			return state{}, err
		}
	}
	if err := h.createShares(dir, made.SMB); err != nil {
		return state{}, err
	}
	return made, h.saveState(dir, made)
}

// placeImages makes the images of the disks, and gives the volumes their letters.
func (h *host) placeImages(dir string, made *state) error {
	for _, record := range made.Disks {
		id, err := h.placeImage(dir, record)
		if err != nil {
			return fmt.Errorf("disk %d: %w", record.Number, err)
		}
		letter := record.Letter
		if record.System {
			letter, made.BootImage = "C", record.Image
		}
		if letter != "" {
			made.Letters = append(made.Letters, letterState{Letter: letter, Volume: id})
		}
	}
	if i := slices.IndexFunc(made.Disks, func(d diskState) bool { return d.Boot }); i >= 0 {
		made.BootImage = made.Disks[i].Image
	}
	return nil
}
