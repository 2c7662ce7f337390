// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/windows/wmi"
)

// Kernel makes the calls on the machine that the program runs on. Calls through WMI need a value from New; all others
// work with the zero value. The two parts of WMI have threads of their own: a format may take minutes, or hang with its
// disk, and calls for shares must not wait for that.
type Kernel struct {
	smb     *wmi.Client
	storage *wmi.Client
}

// New returns the kernel of this machine. One is enough for a process: it keeps the threads on which it calls WMI. The
// first call that needs them starts them.
func New() Kernel { return Kernel{smb: &wmi.Client{}, storage: &wmi.Client{}} }

var (
	_ kernel.Kernel = Kernel{}
	_ kernel.Handle = (*handle)(nil)
)
