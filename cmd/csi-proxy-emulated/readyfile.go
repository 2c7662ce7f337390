// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
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
	temporary := string(f) + ".new"
	err := writeNew(temporary, fmt.Appendf(nil, "ready %d\n", endpoints))
	if err == nil {
		err = os.Rename(temporary, string(f))
	}
	if err != nil {
		return fmt.Errorf("cannot write the ready file: %w", err)
	}
	return nil
}

// writeNew writes a new file, after removing whatever is at the path.
func writeNew(path string, content []byte) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644) //nolint:gosec // it is for others to read
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	return errors.Join(err, file.Close())
}

// disappear removes the file, even one that a killed agent left. A missing file, or none, is not an error.
func (f readyFile) disappear() error {
	if err := os.Remove(string(f)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove the ready file: %w", err)
	}
	return nil
}
