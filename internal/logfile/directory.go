// SPDX-License-Identifier: Apache-2.0

package logfile

import "fmt"

// MakeDirectory makes a directory for logs, and the missing ones above it. On Windows those that it makes are written
// by SYSTEM and administrators only, and read by users: by default anyone may add files below a new directory of C:\,
// and a link put there would make the agent write as SYSTEM where it leads. A directory that exists stays as it is.
func MakeDirectory(path string) error {
	if err := makeDirectory(path); err != nil {
		return fmt.Errorf("log directory: %w", err)
	}
	return nil
}
