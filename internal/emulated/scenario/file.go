// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/plainfile"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/strictyaml"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/iscsi"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/services"
)

// Load reads the profile of a name, or else the scenario file of a path: a file with the name of a profile is
// found as ./NAME. Errors: *strictyaml.Error, or those of the host.
func Load(nameOrPath string) (Scenario, error) {
	profile := "profiles/" + nameOrPath + ".yaml"
	if text, err := profileFiles.ReadFile(profile); err == nil {
		return Parse(profile, text)
	}
	file, err := filepath.EvalSymlinks(nameOrPath) // in a container, a mounted file is a link
	if errors.Is(err, os.ErrNotExist) && !strings.ContainsAny(nameOrPath, `./\`) {
		return Scenario{}, fmt.Errorf("no profile or file %q; the profiles are %s", nameOrPath,
			strings.Join(Profiles(), ", "))
	}
	if err != nil {
		return Scenario{}, err
	}
	text, err := plainfile.Read(file, strictyaml.MaxBytes)
	if err != nil {
		return Scenario{}, err
	}
	return Parse(nameOrPath, text)
}

// Parse parses the text of a scenario file; the name is for errors, which are *strictyaml.Error. Anything that
// the text leaves out is as in Default.
func Parse(name string, text []byte) (Scenario, error) {
	return parseOver(name, text, Default())
}

//go:embed default.yaml
var defaultScenario []byte // never changes

// Default returns the scenario that Open uses by default: a system disk of 64 GiB, a blank online disk of 10
// GiB and a blank offline one of 20 GiB, and the directories that a kubelet makes.
func Default() Scenario {
	s, _ := parseOver("default.yaml", defaultScenario, Scenario{}) // it is in the program
	return s
}

func parseOver(name string, text []byte, s Scenario) (Scenario, error) {
	directories := s.Directories // those of the file are added
	s.Directories = nil
	file, err := strictyaml.Decode(name, text, &s)
	if err != nil {
		return Scenario{}, err
	}
	s.setDefaults(file)
	if err := s.Check(); err != nil {
		return Scenario{}, file.Error(err)
	}
	s.Directories = append(directories, s.Directories...)
	return s, nil
}

// setDefaults sets the defaults in elements of lists that are not zero values, and fields that are negated in files.
func (s *Scenario) setDefaults(file *strictyaml.Document) {
	for i := range s.Disks {
		s.Disks[i].LUNAuto = file.Has("disks", i) && !file.Has("disks", i, "lun")
	}
	for i := range s.Services {
		if file.Has("services", i) && !file.Has("services", i, "start") {
			s.Services[i].StartType = services.Automatic
		}
	}
	for i := range s.SMBServers {
		if file.Has("smbServers", i, "encryption") {
			s.SMBServers[i].NoEncryption = !s.SMBServers[i].NoEncryption
		}
	}
	for i := range s.ISCSI {
		if !file.Has("iscsiPortals", i, "port") {
			s.ISCSI[i].At.Port = iscsi.DefaultPort
		}
	}
}

//go:embed profiles/*.yaml
var profileFiles embed.FS // never changes

// Profiles returns the sorted names of the built-in scenarios: nodes with disks as clouds present them.
func Profiles() []string {
	entries, _ := profileFiles.ReadDir("profiles") // it is in the program
	var names []string
	for _, entry := range entries {
		names = append(names, strings.TrimSuffix(entry.Name(), ".yaml"))
	}
	slices.Sort(names) // files are sorted with their suffix
	return names
}
