// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package fileowner

import "os"

// MakeDirectory makes a directory for logs and other records, with its missing parents.
func MakeDirectory(path string) error { return os.MkdirAll(path, 0o750) }
