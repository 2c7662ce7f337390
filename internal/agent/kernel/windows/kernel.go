// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel/windows/wmi"
)

// Kernel makes the calls on this machine; those through WMI need a value from New. WMI calls that may hang have their
// own threads: listing the mappings, for every walk to a share, never waits for an absent server or a format.
type Kernel struct {
	mappings *wmi.Client // lists the SMB mappings
	unmaps   *wmi.Client
	maps     *wmi.Client
	formats  *wmi.Client
	storage  *wmi.Client // everything else of storage
}

// New returns the kernel of this machine. One is enough for a process: it keeps the threads on which it calls WMI.
func New() Kernel {
	const short = 30 * time.Second // for calls that stay on this machine
	const keep = 30 * time.Second  // the threads of a burst, such as the pods of a node that starts
	return Kernel{
		mappings: &wmi.Client{MaxWait: short},
		unmaps:   &wmi.Client{Threads: kernel.MostUnmaps, Keep: keep},
		maps:     &wmi.Client{Threads: kernel.MostMaps, Keep: keep},
		formats:  &wmi.Client{Threads: kernel.MostFormats, Keep: keep},
		storage:  &wmi.Client{Threads: 3, MaxWait: 2 * time.Minute},
	}
}

var (
	_ kernel.Kernel = Kernel{}
	_ kernel.Handle = (*handle)(nil)
)
