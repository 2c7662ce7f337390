// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package main

import "github.com/kubernetes-csi/csi-proxy/internal/kernel"

// thisMachine is nil: this is no Windows node, and the command line was not taken if it asked for one.
func thisMachine() kernel.Kernel { return nil }
