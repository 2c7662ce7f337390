// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/strictyaml"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/iscsi"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ntpath"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/services"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
)

// Scenario describes a new node. Disk 0, the system disk with drive C, is always there.
//
// Scenario files, node.json and the control share its types, so that each field is described once.
type Scenario struct {
	SystemSerial string         `yaml:"smbiosSerial"` // of the SMBIOS system information
	Switches     Switches       `yaml:"switches"`
	SystemDisk   bundle.Spec    `yaml:"systemDisk"`  // disk 0; always online and writable
	Disks        []bundle.Spec  `yaml:"disks"`       // disks 1, 2 and so on
	Adapters     []AdapterSpec  `yaml:"adapters"`    // adapters without a disk
	PageFiles    []string       `yaml:"pageFiles"`   // Windows paths; the files themselves are not made
	DumpFile     string         `yaml:"dumpFile"`    // Windows path of a dedicated dump file; empty: none
	Directories  []string       `yaml:"directories"` // Windows paths on drive C, which exist from the start
	Services     []ServiceSpec  `yaml:"services"`
	SMBUsers     []smb.User     `yaml:"smbUsers"`
	SMBServers   []smb.Server   `yaml:"smbServers"`
	ISCSI        []iscsi.Portal `yaml:"iscsiPortals"`
}

// Check refuses a scenario of which no node can be made.
func (s *Scenario) Check() error {
	if err := s.Switches.check(); err != nil {
		return strictyaml.At(err, "switches")
	}
	if d := s.SystemDisk; d.Offline || d.ReadOnly || d.Protected || bool(d.Formatted) || d.Boot || d.Letter != "" {
		return strictyaml.At(errors.New("offline, readOnly, protected, content, boot and letter cannot be set for the system disk"),
			"systemDisk")
	}
	for i, path := range s.PageFiles {
		if _, err := ntpath.ParseWin32(path); err != nil {
			return strictyaml.At(fmt.Errorf("%q is not a Windows path", path), "pageFiles", i)
		}
	}
	if s.DumpFile != "" {
		if _, err := ntpath.ParseWin32(s.DumpFile); err != nil {
			return strictyaml.At(fmt.Errorf("%q is not a Windows path", s.DumpFile), "dumpFile")
		}
	}
	if _, err := s.disks(); err != nil {
		return err
	}
	for i, path := range s.Directories {
		if _, err := directoryOnC(path); err != nil {
			return strictyaml.At(err, "directories", i)
		}
	}
	if err := services.New(s.Services).Check(); err != nil {
		return err
	}
	servers := smb.NewState(s.SMBServers, s.SMBUsers)
	if err := servers.Check(); err != nil {
		return err
	}
	for i, server := range s.SMBServers {
		for j, share := range server.Shares {
			if err := servers.CheckUsers(share.Users); err != nil {
				return strictyaml.At(err, "smbServers", i, "shares", j)
			}
		}
	}
	return iscsi.CheckPortals(s.ISCSI)
}

// disks returns the records of the disks, the system disk first.
func (s *Scenario) disks() (made []bundle.Record, err error) {
	record, err := s.SystemDisk.Record(nil, s.Switches.OfflineDisksReadOnly)
	if err != nil {
		return nil, strictyaml.At(err, "systemDisk")
	}
	record.System = true
	made = append(made, record)
	for i, spec := range s.Disks {
		if record, err = spec.Record(made, s.Switches.OfflineDisksReadOnly); err != nil {
			return nil, strictyaml.At(err, "disks", i)
		}
		made = append(made, record)
	}
	return made, nil
}

// directoryOnC returns the names of a directory's path, which must be on drive C.
func directoryOnC(path string) ([]string, error) {
	p, err := winpath.Parse(path, winpath.Options{})
	if err == nil && p.Drive() != 'C' {
		err = fmt.Errorf("directory %q is not on drive C", path)
	}
	return p.Components(), err
}

// creatingFile exists from the first change of an empty directory until node.json exists. If the process dies between
// them, there is no node yet, and it is made again.
const creatingFile = "creating"

// create makes the node of the scenario in a directory without a node.
func create(h *hostfiles.Host, dir string, s Scenario) (state, error) {
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
		if err := h.Mkdir(filepath.Join(dir, name)); err != nil {
			return state{}, err
		}
	}
	made := state{
		Switches: s.Switches, SystemSerial: s.SystemSerial, Services: services.New(s.Services),
		SMB: smb.NewState(s.SMBServers, s.SMBUsers), ISCSI: iscsi.NewState(s.ISCSI),
		Adapters: s.Adapters, PageFiles: s.PageFiles, DumpFile: s.DumpFile,
	}
	var err error
	if made.Disks, err = s.disks(); err != nil {
		return state{}, err
	}
	if err := makeDisks(h, dir, &made); err != nil {
		return state{}, err
	}
	c := made.Letters[0].Volume
	for _, path := range s.Directories {
		names, err := directoryOnC(path)
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
