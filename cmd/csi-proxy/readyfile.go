// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// readyFile is a file that is there while the agent serves, for those who cannot read its standard output. An empty
// path is none.
type readyFile string

// appear makes the file as a whole, with the line that standard output has. The temporary file is a new one: a link that
// somebody put there is removed and not followed.
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

// writeNew writes a file in place of what is there.
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

// disappear removes the file, also one that a killed agent left. A file that is not there is no error.
func (f readyFile) disappear() error {
	if f == "" {
		return nil
	}
	if err := os.Remove(string(f)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("cannot remove the ready file: %w", err)
	}
	return nil
}
