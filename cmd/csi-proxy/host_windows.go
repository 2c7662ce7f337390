// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/windows"
)

// thisMachine returns the kernel of the node that the agent runs on. It opens nothing before its first call.
func thisMachine() kernel.Kernel { return windows.New() }
