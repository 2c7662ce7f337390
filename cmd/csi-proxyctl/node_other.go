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

	"github.com/kubernetes-csi/csi-proxy/internal/agent/fileowner"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/doctor"
)

// securityOf returns the mode and the owner of a socket.
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

// systemVersion returns the version of the kernel, or an empty text.
func systemVersion() string {
	text, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	return string(text)
}

// directories returns the accounts that may change the directory of the agent's sockets.
func (a *connection) directories() ([]doctor.Directory, error) {
	dir := filepath.Dir(a.address("disk", "v1"))
	names, err := fileowner.Others(dir)
	return []doctor.Directory{{Path: dir, Who: names}}, err
}

// space returns the free space of a file system, -1 if it is unknown, and its size.
func space(path string) (free, size int64) {
	var fs unix.Statfs_t
	if err := unix.Statfs(path, &fs); err != nil {
		return -1, 0
	}
	block := int64(fs.Bsize) //nolint:unconvert // other systems have other types
	return int64(fs.Bavail) * block, int64(fs.Blocks) * block
}

// registryNumber is for Windows.
func registryNumber(string, string) (uint64, error) { return 0, errors.ErrUnsupported }
