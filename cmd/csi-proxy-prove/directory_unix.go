// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/fileowner"
)

// baseDirectory returns the place of the kit's files. It is short, because agents' sockets are below it.
func baseDirectory() string {
	return filepath.Join(os.TempDir(), fmt.Sprintf("csi-proxy-prove-%d", os.Getuid()))
}

func makeBase(path string) error { return os.Mkdir(path, 0o700) }

func writers(path string) ([]string, error) { return fileowner.Others(path) }

// lock locks the kit's directory.
func lock(base string) (unlock func(), err error) {
	dir, err := os.Open(base)
	if err != nil {
		return nil, err
	}
	unlock = func() { _ = dir.Close() }
	if err = syscall.Flock(int(dir.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		unlock()
	}
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = errLocked
	}
	return unlock, err
}
