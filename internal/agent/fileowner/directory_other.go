// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package fileowner

import (
	"os"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// makeDirectory leaves the access list to Windows.
func makeDirectory(path string, _ win32.AccessList) error { return os.MkdirAll(path, 0o750) }
