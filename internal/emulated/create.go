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

// create makes the node of the scenario in a new directory.
func create(h *hostfiles.Host, dir string, s scenario.Scenario) error {
	if err := s.Check(); err != nil {
		return err
	}
	for _, name := range stateDirs() {
		if err := h.MkdirAll(filepath.Join(dir, name), 0o777); err != nil {
			return err
		}
	}
	made := state{
		Surroundings: Surroundings{s.Switches, services.New(s.Services), smb.NewState(s.SMBServers, s.SMBUsers),
			iscsi.NewState(s.ISCSI)},
		SystemSerial: s.SystemSerial, Adapters: s.Adapters, PageFiles: s.PageFiles, DumpFile: s.DumpFile,
	}
	var err error
	if made.Disks, err = s.Records(); err != nil {
		return err
	}
	if err := makeDisks(h, dir, &made); err != nil {
		return err
	}
	c := made.Letters[0].Volume
	for _, path := range s.Directories {
		names, err := scenario.DirectoryOnC(path)
		if err != nil {
			return err
		}
		host := filepath.Join(append([]string{bundle.FilesPath(made.Disks[0].Home(dir), c)}, names...)...)
		if err := h.MkdirAll(host, 0o755); err != nil {
			return err
		}
	}
	if err := smb.CreateShares(h, dir, made.SMB); err != nil {
		return err
	}
	return saveState(h, dir, made)
}

// makeDisks makes the disks, and gives their volumes letters.
func makeDisks(h *hostfiles.Host, dir string, made *state) error {
	for _, record := range made.Disks {
		id, err := bundle.Make(h, record.Home(dir), record, false)
		if err != nil {
			return fmt.Errorf("disk %d: %w", record.Number, err)
		}
		if record.Letter != "" {
			made.Letters = append(made.Letters, letterState{Letter: record.Letter, Volume: id})
		}
	}
	boot := 1 + slices.IndexFunc(made.Disks[1:], func(d bundle.Record) bool { return d.Boot })
	made.BootImage = made.Disks[boot].Image // else of the system disk
	return nil
}
