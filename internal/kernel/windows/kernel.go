// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import "github.com/kubernetes-csi/csi-proxy/internal/kernel"

// Kernel makes the calls on the machine that the program runs on. The zero value is ready; all values are alike.
type Kernel struct{}

var (
	_ kernel.Devices  = Kernel{}
	_ kernel.Files    = Kernel{}
	_ kernel.Services = Kernel{}
	_ kernel.Handle   = (*handle)(nil)
)
