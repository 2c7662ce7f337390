// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/kubernetes-csi/csi-proxy/internal/proof"
)

// inspectMachine finds out where the kit is. Off Windows there are only emulated nodes to try.
func inspectMachine(_ context.Context, base string) (machine, error) {
	m := machine{base: base, administrator: os.Geteuid() == 0}
	m.Machine = proof.Machine{System: proof.Emulated, Product: runtime.GOOS, Architecture: runtime.GOARCH}
	m.hidePersonal()
	var disk syscall.Statfs_t
	err := syscall.Statfs(filepath.Dir(base), &disk)
	m.freeBytes = disk.Bavail * uint64(disk.Bsize)
	return m, err
}

// recordsDirectory returns none: here agents have only emulated nodes.
func recordsDirectory() string { return "" }
