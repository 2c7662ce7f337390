// SPDX-License-Identifier: Apache-2.0

//go:build unix

package records_test

import (
	"os"
	"syscall"
)

// planted are ways to put something in the place of a file; outside is a path that is not there.
func planted(outside string) map[string]func(file string) error {
	return map[string]func(string) error{
		"a pipe":      func(file string) error { return syscall.Mkfifo(file, 0o600) },
		"a link":      func(file string) error { return os.Symlink(outside, file) },
		"a device":    func(file string) error { return os.Symlink("/dev/zero", file) },
		"a directory": func(file string) error { return os.MkdirAll(file+"/in the way", 0o700) },
		"an endless file": func(file string) error {
			if err := os.WriteFile(file, nil, 0o600); err != nil {
				return err
			}
			return os.Truncate(file, 1<<40)
		},
	}
}
