// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package main

import (
	"errors"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/fileowner"
	"github.com/kubernetes-csi/csi-proxy/internal/operator/doctor"
)

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
