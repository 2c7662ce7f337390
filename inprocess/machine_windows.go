// SPDX-License-Identifier: Apache-2.0

package inprocess

import (
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/windows"
)

func machine() (kernel.Kernel, error) { return windows.New(), nil }
