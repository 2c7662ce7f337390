// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"os"

	"golang.org/x/sys/unix"
)

// syncFileSystem makes durable what anybody wrote to the file system of a file.
func syncFileSystem(f *os.File) error { return unix.Syncfs(int(f.Fd())) }
