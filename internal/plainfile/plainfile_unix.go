// SPDX-License-Identifier: Apache-2.0

//go:build unix

package plainfile

import "syscall"

// withoutWaiting makes open refuse a symbolic link, and not wait for the other end of a pipe.
const withoutWaiting = syscall.O_NOFOLLOW | syscall.O_NONBLOCK
