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

// create makes the node of a scenario, which was checked, in a new directory.
func create(h *hostfiles.Host, dir string, s scenario.Scenario) error {
	disks, err := s.Records()
	if err != nil {
		return err
	}
	boot := 1 + slices.IndexFunc(disks[1:], func(d bundle.Record) bool { return d.Boot })
	made := state{
		Surroundings: Surroundings{s.Switches, services.New(s.Services), smb.NewState(s.SMBServers, s.SMBUsers),
			iscsi.NewState(s.ISCSI)},
		SystemSerial: s.SystemSerial, Adapters: s.Adapters, PageFiles: s.PageFiles, DumpFile: s.DumpFile,
		Disks: disks, BootImage: disks[boot].Image, // else of the system disk
	}
	for _, name := range stateDirs() {
		if err := h.MkdirAll(filepath.Join(dir, name), 0o777); err != nil {
			return err
		}
	}
	for _, record := range disks {
		id, err := bundle.Make(h, record.Home(dir), record, false)
		if err != nil {
			return fmt.Errorf("disk %d: %w", record.Number, err)
		}
		if record.Letter != "" {
			made.Letters = append(made.Letters, letterState{Letter: record.Letter, Volume: id})
		}
	}
	c := bundle.FilesPath(disks[0].Home(dir), made.Letters[0].Volume)
	for _, path := range s.Directories {
		names, _ := scenario.DirectoryOnC(path) // the check found them valid
		if err := h.MkdirAll(filepath.Join(c, filepath.Join(names...)), 0o755); err != nil {
			return err
		}
	}
	if err := smb.CreateShares(h, dir, made.SMB); err != nil {
		return err
	}
	return saveState(h, dir, made)
}
