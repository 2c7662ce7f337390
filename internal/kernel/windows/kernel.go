// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/windows/wmi"
)

// Kernel makes the calls on the machine that the program runs on. All values are alike; what goes through WMI needs one
// that New made, the rest is ready in the zero value.
type Kernel struct {
	wmi *wmi.Client
}

// New is the kernel of this machine. One is enough for a process: it keeps the threads on which it calls WMI.
func New() Kernel { return Kernel{wmi: &wmi.Client{}} }

var (
	_ kernel.Devices  = Kernel{}
	_ kernel.Files    = Kernel{}
	_ kernel.Services = Kernel{}
	_ kernel.Firmware = Kernel{}
	_ kernel.ISCSI    = Kernel{}
	_ kernel.SMB      = Kernel{}
	_ kernel.Handle   = (*handle)(nil)
)
