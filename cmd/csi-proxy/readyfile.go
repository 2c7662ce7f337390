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

// appear makes the file as a whole, with the line that standard output has.
func (f readyFile) appear(endpoints int) error {
	if f == "" {
		return nil
	}
	temporary := string(f) + ".new"
	err := os.WriteFile(temporary, fmt.Appendf(nil, "ready %d\n", endpoints), 0o644) //nolint:gosec // it is for others to read
	if err == nil {
		err = os.Rename(temporary, string(f))
	}
	if err != nil {
		return fmt.Errorf("cannot write the ready file: %w", err)
	}
	return nil
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
