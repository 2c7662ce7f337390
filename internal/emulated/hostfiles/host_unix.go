// SPDX-License-Identifier: Apache-2.0

//go:build unix

package hostfiles

import (
	"errors"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}
func isNameTooLong(err error) bool { return errors.Is(err, syscall.ENAMETOOLONG) }
func isNotEmpty(err error) bool    { return errors.Is(err, syscall.ENOTEMPTY) }

// withoutWaiting makes an open return at once where the name is a named pipe without a writer.
const withoutWaiting = syscall.O_NONBLOCK

// lockFile takes a lock that ends with the process; held is true if another process has it.
func lockFile(f *os.File) (held bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// renameAt moves a name from one open directory to another.
func renameAt(source *os.File, from string, target *os.File, to string) error {
	return unix.Renameat(int(source.Fd()), from, int(target.Fd()), to)
}

// MarkSparse does nothing: files may have holes here without being declared sparse.
func MarkSparse(*os.File) {}
