// SPDX-License-Identifier: Apache-2.0

package records

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/fileowner"
)

// MachineDir makes and returns the directory for the records of a machine, csi-proxy\shares in ProgramData, which the
// agent and drivers that work in process have in common. Only SYSTEM and Administrators may read it or change it: a
// directory that others may change is refused, with the commands that cure it.
func MachineDir() (string, error) {
	data := os.Getenv("ProgramData")
	if data == "" {
		return "", errors.New("there is no directory for records: the environment has no ProgramData")
	}
	base := filepath.Join(data, "csi-proxy")
	dir := filepath.Join(base, "shares")
	if err := fileowner.MakePrivateDirectory(base); err != nil {
		return "", fmt.Errorf("the directory for records: %w", err)
	}
	// What others may have put into an open directory would look like the agent's own once the one above is closed.
	if err := safe(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", errors.Join(safe(base), err)
	}
	if err := safe(base); err != nil {
		return "", err
	}
	if err := fileowner.MakePrivateDirectory(dir); err != nil {
		return "", err
	}
	if err := safe(dir); err != nil {
		return "", err
	}
	return dir, nil
}

// safe refuses a directory that is a link, or that others may change, with the commands that cure it.
func safe(dir string) error {
	err := fileowner.Check(dir)
	if err == nil {
		return nil
	}
	link, unknown := fileowner.IsLink(dir)
	switch {
	case unknown != nil:
		return err
	case link:
		return fmt.Errorf("no records are kept below a link: %w; remove it:\n  rmdir \"%s\"", err, dir)
	}
	return fmt.Errorf("no records are kept where others may put theirs, which you must remove first: %w%s", err,
		fileowner.Cure(dir, false))
}
