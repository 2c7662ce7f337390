// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/hostfiles"
)

// readyFile is the path of a file that exists while the agent serves, for programs that cannot read its standard
// output. An empty path means no file.
type readyFile string

// appear makes the file in one step, with the line that standard output has. The temporary file is always a new one: a
// link in its place is removed and not followed.
func (f readyFile) appear(endpoints int) error {
	if f == "" {
		return nil
	}
	host := &hostfiles.Host{}
	err := host.InParent(string(f), func(dir *os.Root, name string) error {
		return host.ReplaceIn(dir, name, name+".new", func(file *os.File) error {
			_, err := fmt.Fprintf(file, "ready %d\n", endpoints)
			return errors.Join(err, file.Chmod(0o644)) // it is for others to read
		})
	})
	if err != nil {
		return fmt.Errorf("cannot write the ready file: %w", err)
	}
	return nil
}

// disappear removes the file, even one that a killed agent left. A missing file, or none, is not an error.
func (f readyFile) disappear() error {
	if err := os.Remove(string(f)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove the ready file: %w", err)
	}
	return nil
}
