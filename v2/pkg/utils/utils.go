// SPDX-License-Identifier: Apache-2.0

// Package utils has the helpers that drivers take from the existing in-process library, under their names there: those
// of v2.0.0-alpha.2, and RunPowershellCmd of v2.0.0-alpha.1, which starts no PowerShell here. They work on the machine
// that the process runs on, without the path policy of the other packages. New drivers need none of them.
package utils

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

const (
	// MaxPathLengthWindows is the longest path, with the NUL behind it, that most programs bear.
	MaxPathLengthWindows = 260
	// LongPathPrefix begins a path that may be longer.
	LongPathPrefix = `\\?\`
)

// EnsureLongPath returns a path with LongPathPrefix before it. A path that has the prefix is returned unchanged.
func EnsureLongPath(path string) string {
	if strings.HasPrefix(path, LongPathPrefix) {
		return path
	}
	return LongPathPrefix + path
}

// PathExists reports whether anything is at a path; a link counts, wherever it leads.
func PathExists(path string) (bool, error) {
	_, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// IsPathSymlink reports whether a path is a link or a mount point, wherever it leads. A missing path is an error.
func IsPathSymlink(path string) (bool, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return false, err
	}
	return info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0, nil // Go calls a mount point irregular
}

// IsPathValid reports whether a path, or a share on the network, can be reached. It is an error if the share's server
// is away or its credentials do not work any more. Off Windows it fails with errors.ErrUnsupported in the error.
func IsPathValid(path string) (bool, error) { return isPathValid(path) }

// IsMountedFolder reports whether a path is a mount point or a symbolic link, which the existing library counts as one.
// A missing path is the bare syscall.ERROR_FILE_NOT_FOUND or ERROR_PATH_NOT_FOUND. Off Windows it fails with
// errors.ErrUnsupported in the error.
func IsMountedFolder(path string) (bool, error) { return isMountedFolder(path) }

// CreateSymlink makes a link to a target, which is a directory if isDir is set. Off Windows it fails with
// errors.ErrUnsupported in the error.
func CreateSymlink(link, target string, isDir bool) error { return createSymlink(link, target, isDir) }
