// SPDX-License-Identifier: Apache-2.0

package records_test

import (
	"os"
	"path/filepath"
)

// planted are ways to put something in the place of a file; outside is a path that is not there.
func planted(string) map[string]func(file string) error {
	return map[string]func(string) error{
		"a directory": func(file string) error { return os.MkdirAll(filepath.Join(file, "in the way"), 0o700) },
	}
}
