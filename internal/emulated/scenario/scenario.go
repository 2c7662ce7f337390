// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/strictyaml"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winpath"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/bundle"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/iscsi"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/ntpath"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/services"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/smb"
)

// Scenario describes a new node. Disk 0, the system disk with drive C, is always there.
//
// Scenario files, node.json and the control share its types, so that each field is described once. Its comment is what
// docs/scenario-files.md says of it, too.
type Scenario struct {
	SystemSerial string          `yaml:"smbiosSerial"` // the serial number of the system in SMBIOS; empty: none
	Switches     Switches        `yaml:"switches"`     // a mapping, below
	SystemDisk   bundle.Spec     `yaml:"systemDisk"`   // a mapping, below: disk 0, always online and writable
	Disks        []bundle.Spec   `yaml:"disks"`        // disks 1, 2 and so on; `[]`: only the system disk
	Adapters     []Adapter       `yaml:"adapters"`     // storage adapters without a disk
	PageFiles    []string        `yaml:"pageFiles"`    // paths; left out: `C:\pagefile.sys`; the files are not made
	DumpFile     string          `yaml:"dumpFile"`     // the path of a dedicated crash dump file; empty: none
	Directories  []string        `yaml:"directories"`  // more paths on drive C, with their parents
	Services     []services.Spec `yaml:"services"`     // Windows services
	SMBUsers     []smb.User      `yaml:"smbUsers"`     // accounts, each on all file servers
	SMBServers   []smb.Server    `yaml:"smbServers"`   // file servers
	ISCSI        []iscsi.Portal  `yaml:"iscsiPortals"` // portals of storage systems
}

// Check refuses a scenario of which no node can be made.
func (s *Scenario) Check() error {
	if err := s.Switches.Check(); err != nil {
		return strictyaml.At(err, "switches")
	}
	if d := s.SystemDisk; d.Offline || d.ReadOnly || d.Protected || bool(d.Formatted) || d.FileSystem != 0 || d.Boot ||
		d.Letter != "" {
		return strictyaml.At(errors.New("offline, readOnly, protected, content, fileSystem, boot and letter cannot be set "+
			"for the system disk"), "systemDisk")
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
	if _, err := s.Records(); err != nil {
		return err
	}
	for i, path := range s.Directories {
		if _, err := DirectoryOnC(path); err != nil {
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
	for i, user := range s.SMBUsers {
		if err := user.CheckPassword(); err != nil {
			return strictyaml.At(err, "smbUsers", i)
		}
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

// Records returns the records of the disks, the system disk first.
func (s *Scenario) Records() (made []bundle.Record, err error) {
	system := s.SystemDisk
	system.Formatted, system.Boot = true, true
	record, err := system.Record(nil, s.Switches.OfflineDisksReadOnly)
	if err != nil {
		return nil, strictyaml.At(err, "systemDisk")
	}
	record.System, record.Letter = true, "C"
	made = append(made, record)
	for i, spec := range s.Disks {
		if record, err = spec.Record(made, s.Switches.OfflineDisksReadOnly); err != nil {
			return nil, strictyaml.At(err, "disks", i)
		}
		if record.Letter != "" && slices.ContainsFunc(made, func(o bundle.Record) bool { return o.Letter == record.Letter }) {
			return nil, strictyaml.At(fmt.Errorf("another disk has the letter %s", record.Letter), "disks", i, "letter")
		}
		made = append(made, record)
	}
	return made, nil
}

// DirectoryOnC returns the names of a directory's path, which must be on drive C.
func DirectoryOnC(path string) ([]string, error) {
	p, err := winpath.Parse(path, winpath.Options{})
	if err == nil && p.Drive() != 'C' {
		err = fmt.Errorf("directory %q is not on drive C", path)
	}
	return p.Components(), err
}

// Adapter is a storage adapter in a scenario. The adapters of disks need not be listed.
type Adapter struct {
	Number  uint8           `json:"adapter"` // as of a disk
	BusType setting.BusType `json:"busType"` // as of a disk
}
