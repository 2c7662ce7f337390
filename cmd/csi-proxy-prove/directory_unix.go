// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/kubernetes-csi/csi-proxy/internal/fileowner"
)

// baseDirectory returns the place of the kit's files. It is short, because agents' sockets are below it.
func baseDirectory() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("csi-proxy-prove-%d", os.Getuid()))
}

func makeBase(path string) error { return os.Mkdir(path, 0o700) }

// secure restricts an existing directory to its owner.
func secure(path string) error { return os.Chmod(path, 0o700) } //nolint:gosec // a directory

func writers(path string) ([]string, error) { return fileowner.Others(path) }

// lock locks a file.
func lock(base string) (unlock func(), err error) {
	file, err := os.OpenFile(lockOf(base), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errLocked
		}
		return nil, err
	}
	return sync.OnceFunc(func() { _ = file.Close() }), nil
}
