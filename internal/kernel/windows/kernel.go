// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/windows/wmi"
)

// Kernel makes the calls on the machine that the program runs on. All values are alike; what goes through WMI needs one
// that New made, the rest is ready in the zero value. The two parts of WMI have threads of their own: a format may take
// minutes, or hang with its disk, and no share waits for that.
type Kernel struct {
	smb     *wmi.Client
	storage *wmi.Client
}

// New is the kernel of this machine. One is enough for a process: it keeps the threads on which it calls WMI. They are
// started by the first call that needs them.
func New() Kernel { return Kernel{smb: &wmi.Client{}, storage: &wmi.Client{}} }

var (
	_ kernel.Kernel = Kernel{}
	_ kernel.Handle = (*handle)(nil)
)
