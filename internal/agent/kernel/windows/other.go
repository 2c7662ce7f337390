// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package windows

import "github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"

// New returns nil: this is not a Windows node.
func New() kernel.Kernel { return nil }
