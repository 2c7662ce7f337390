// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/windows"
)

// thisMachine is the kernel of the node that the agent runs on. It opens nothing before it is asked for something.
func thisMachine() kernel.Kernel { return windows.New() }
