// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"fmt"
	"path/filepath"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/fileowner"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/plainfile"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/strictyaml"
)

// Load reads the policy of an agent. Write access to the file equals full access, so it is refused if it is a link, or
// if it or a directory above it can be changed by others than the agent's user and the machine's administrators.
func Load(path string) (*Policy, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	if err := Guard(path); err != nil {
		return nil, err
	}
	return Read(path)
}

// Guard returns why an agent would refuse the file, whatever is in it; nil: it would not.
func Guard(path string) error {
	if err := fileowner.CheckAbove(path); err != nil {
		return fmt.Errorf("the policy %s is refused: %w", path, err)
	}
	return nil
}

// Read reads a policy file, whatever accounts may change it.
func Read(path string) (*Policy, error) {
	text, err := plainfile.Read(path, strictyaml.MaxBytes)
	if err != nil {
		return nil, fmt.Errorf("the policy %s is refused: %w", path, err)
	}
	return Parse(path, text)
}
