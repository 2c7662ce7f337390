// SPDX-License-Identifier: Apache-2.0

package records

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/fileowner"
)

// MachineDir makes and returns the directory for the records of a machine, csi-proxy\shares in ProgramData, which the
// agent and drivers that work in process have in common. Only administrators may be able to change it.
func MachineDir() (string, error) {
	data := os.Getenv("ProgramData")
	if data == "" {
		return "", errors.New("there is no directory for records: the environment has no ProgramData")
	}
	base := filepath.Join(data, "csi-proxy")
	dir := filepath.Join(base, "shares")
	err := fileowner.MakeDirectory(dir)
	for _, made := range []string{base, dir} {
		if err == nil {
			err = fileowner.Check(made)
		}
	}
	if err != nil {
		return "", fmt.Errorf("%s is not safe for records: remove it, or let only administrators change it: %w", dir, err)
	}
	return dir, nil
}
