// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package emulated

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncFileSystem makes durable what anybody wrote to any file system.
func syncFileSystem(*os.File) error { return unix.Sync() }
