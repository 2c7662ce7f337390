// SPDX-License-Identifier: Apache-2.0

//go:build unix

package policy

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// notFollowing makes open refuse a symbolic link, and not wait for the writer of a pipe.
const notFollowing = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

func guardFile(file *os.File, info fs.FileInfo) error {
	return guard(file.Name(), "the file", info)
}

// guardDirectory accepts a directory such as /tmp, where everybody may write but nobody may replace what is another's.
func guardDirectory(policy, dir string, info fs.FileInfo) error {
	if info.Mode()&fs.ModeSticky != 0 {
		return ownedByUs(policy, dir, info)
	}
	return guard(policy, "the directory "+dir, info)
}

func guard(policy, what string, info fs.FileInfo) error {
	if err := ownedByUs(policy, what, info); err != nil {
		return err
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("the policy %s is refused: %s has mode %#o, so that others can change it; take the right away "+
			"with chmod go-w",
			policy, what, info.Mode().Perm())
	}
	return nil
}

func ownedByUs(policy, what string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || stat.Uid != 0 && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("the policy %s is refused: %s belongs to another user, who can change it; let root or the "+
			"agent's user own it", policy, what)
	}
	return nil
}
