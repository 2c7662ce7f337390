// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package windows

import (
	"context"
	"fmt"
	"os"
	"syscall"
)

// removers returns how each kind of thing is removed that can be made on this system.
func removers() map[Kind]remover {
	return map[Kind]remover{KindDirectory: removeDirectory, KindDiskFile: removeDiskFile}
}

// identity returns the identity of a directory, which no other one has while it exists.
func identity(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.IsDir() {
		return "", fmt.Errorf("%s is not a directory", path)
	}
	return fmt.Sprintf("%x-%x", stat.Dev, stat.Ino), nil
}

// RemoveTree removes a directory with all that is in it. Go's function opens each directory in the one before and
// follows no link.
func RemoveTree(_ context.Context, dir, mark string) error {
	if is, err := identity(dir); err == nil && mark != "" && is != mark {
		return NotOurs("another directory took its place")
	}
	return os.RemoveAll(dir)
}

// removeEmpty removes an empty directory.
func removeEmpty(dir, _ string) error { return os.Remove(dir) }

// pull does nothing: a virtual disk is a file here.
func pull(context.Context, string) error { return nil }
