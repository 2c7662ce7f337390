// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package inprocess

import (
	"errors"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
)

func machine() (kernel.Kernel, error) {
	return nil, errors.New("this is not a Windows node: in tests, use the client of a csiproxytest node, which is " +
		"emulated")
}
