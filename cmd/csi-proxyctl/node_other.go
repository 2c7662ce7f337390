// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/kubernetes-csi/csi-proxy/internal/doctor"
	"github.com/kubernetes-csi/csi-proxy/internal/fileowner"
)

// securityOf returns the owner and the mode of a socket, and of the directory that it is in.
func securityOf(socket string) (string, error) {
	info, err := os.Lstat(socket)
	if err != nil {
		return "", err
	}
	text := info.Mode().String()
	if owner, ok := info.Sys().(*syscall.Stat_t); ok {
		text += fmt.Sprintf(" uid %d gid %d", owner.Uid, owner.Gid)
	}
	return text, nil
}

// systemVersion returns the version of the system's kernel, if it tells one.
func systemVersion() string {
	text, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return string(text)
}

// directories returns who may change the directory of the agent's sockets.
func (a *connection) directories() ([]doctor.Directory, error) {
	dir := filepath.Dir(a.address("disk", "v1"))
	names, err := fileowner.Others(dir)
	return []doctor.Directory{{Path: dir, Who: names}}, err
}

// freeBytes returns how much can be written to a file system, -1 if it is not known.
func freeBytes(path string) int64 {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return -1
	}
	return int64(fs.Bavail) * int64(fs.Bsize) //nolint:unconvert // other systems have other types
}

// registryNumber is for Windows.
func registryNumber(string, string) (uint64, error) { return 0, errors.ErrUnsupported }
