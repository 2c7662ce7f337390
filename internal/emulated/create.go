// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/iscsi"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/services"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
)

// creatingFile exists from the first change of an empty directory until node.json exists. If the process dies between
// them, there is no node yet, and it is made again.
const creatingFile = "creating"

// create makes the node of the scenario in a directory without a node.
func create(h *hostfiles.Host, dir string, s scenario.Scenario) (state, error) {
	if err := s.Check(); err != nil {
		return state{}, err
	}
	if err := h.WriteFile(filepath.Join(dir, creatingFile),
		[]byte("This node is not complete. The next start makes it again.\n")); err != nil {
		return state{}, err
	}
	for _, name := range stateDirs() {
		if err := h.RemoveAll(filepath.Join(dir, name)); err != nil {
			return state{}, err
		}
		if err := h.MkdirAll(filepath.Join(dir, name), 0o777); err != nil {
			return state{}, err
		}
	}
	made := state{
		Switches: s.Switches, SystemSerial: s.SystemSerial, Services: services.New(s.Services),
		SMB: smb.NewState(s.SMBServers, s.SMBUsers), ISCSI: iscsi.NewState(s.ISCSI),
		Adapters: s.Adapters, PageFiles: s.PageFiles, DumpFile: s.DumpFile,
	}
	var err error
	if made.Disks, err = s.Records(); err != nil {
		return state{}, err
	}
	if err := makeDisks(h, dir, &made); err != nil {
		return state{}, err
	}
	c := made.Letters[0].Volume
	for _, path := range s.Directories {
		names, err := scenario.DirectoryOnC(path)
		if err != nil {
			return state{}, err
		}
		host := filepath.Join(append([]string{bundle.FilesPath(made.Disks[0].Home(dir), c)}, names...)...)
		if err := h.MkdirAll(host, 0o755); err != nil {
			return state{}, err
		}
	}
	if err := smb.CreateShares(h, dir, made.SMB); err != nil {
		return state{}, err
	}
	return made, saveState(h, dir, made)
}

// makeDisks makes the disks, and gives their volumes letters.
func makeDisks(h *hostfiles.Host, dir string, made *state) error {
	for _, record := range made.Disks {
		id, err := bundle.Make(h, record.Home(dir), record, false)
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
	if i := slices.IndexFunc(made.Disks, func(d bundle.Record) bool { return d.Boot }); i >= 0 {
		made.BootImage = made.Disks[i].Image
	}
	return nil
}
