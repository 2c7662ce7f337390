// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// ScenarioError is a mistake in a scenario file and its place. It never contains a secret value of the file.
type ScenarioError struct {
	File    string
	Line    int // 0: the file as a whole
	Problem string
}

func (e *ScenarioError) Error() string {
	switch {
	case e.File == "":
		return e.Problem
	case e.Line == 0:
		return fmt.Sprintf("%s: %s", e.File, e.Problem)
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Problem)
}

// maxScenarioBytes is far more than the largest node needs.
const maxScenarioBytes = 1 << 20

// LoadScenario reads the profile of a name, or else the scenario file of a path: a file with the name of a profile is
// found as ./NAME. Errors: *ScenarioError, or those of the host.
func LoadScenario(nameOrPath string) (Scenario, error) {
	if slices.Contains(Profiles(), nameOrPath) {
		return profile(nameOrPath)
	}
	file, err := os.Open(nameOrPath)
	if errors.Is(err, os.ErrNotExist) && !strings.ContainsAny(nameOrPath, `./\`) {
		return Scenario{}, fmt.Errorf("there is no profile and no file %q; the profiles are %s", nameOrPath,
			strings.Join(Profiles(), ", "))
	}
	if err != nil {
		return Scenario{}, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxScenarioBytes+1))
	if err != nil {
		return Scenario{}, err
	}
	return ParseScenario(nameOrPath, text)
}

// ParseScenario parses the text of a scenario file; the name is for errors, which are *ScenarioError. Anything that the
// text leaves out is as in DefaultScenario.
func ParseScenario(name string, text []byte) (Scenario, error) {
	s := DefaultScenario()
	if problem := s.read(text); problem != nil {
		problem.File = name
		return Scenario{}, problem
	}
	return s, nil
}

// read sets the scenario's fields from the text of a file.
func (s *Scenario) read(text []byte) *ScenarioError {
	if len(text) > maxScenarioBytes {
		return &ScenarioError{Problem: fmt.Sprintf("it has more than %d bytes", maxScenarioBytes)}
	}
	root, problem := parseYAML(text)
	if problem == nil {
		problem = unsuitable(root)
	}
	if problem != nil {
		return problem
	}
	directories := s.Directories // those of the file are added
	s.Directories = nil
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(s); err != nil {
		return decodeProblem(root, err)
	}
	s.leaveOut(root)
	if err := s.Check(); err != nil {
		return wrong(nodeOf(root, err), "%v", err)
	}
	s.Directories = append(directories, s.Directories...)
	return nil
}

// leaveOut sets the defaults in elements of lists that are not zero values, and fields that are negated in files.
func (s *Scenario) leaveOut(root *yaml.Node) {
	for i := range s.Disks {
		s.Disks[i].LUNAuto = child(root, "disks", i) != nil && child(root, "disks", i, "lun") == nil
	}
	for i := range s.SMBServers {
		if child(root, "smbServers", i, "encryption") != nil {
			s.SMBServers[i].NoEncryption = !s.SMBServers[i].NoEncryption
		}
	}
	for i := range s.ISCSI {
		if child(root, "iscsiPortals", i, "port") == nil {
			s.ISCSI[i].At.Port = DefaultISCSIPort
		}
	}
}
