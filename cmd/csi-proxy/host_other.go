// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package main

import "github.com/kubernetes-csi/csi-proxy/internal/kernel"

// thisMachine returns nil: this is not a Windows node, and a command line that asks for one has been refused.
func thisMachine() kernel.Kernel { return nil }
