// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/faults"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// Calls selects kernel calls to disturb. Journal shows which there are.
type Calls struct {
	// Function is the kernel function: "SetVolumeMountPoint", "DeviceIoControl".
	Function string
	// ControlCode selects calls of DeviceIoControl by name or number: "IOCTL_DISK_CREATE_DISK". Empty: all.
	ControlCode string
	// Skip is how many such calls pass first.
	Skip int
	// Times is how many are disturbed then; 0: all.
	Times int
}

// Fail lets calls fail before they take effect. The code is a Win32 error, by name or number: "ERROR_NOT_READY", "21".
// Calling end ends it early; it ends with the node anyway.
func (n *Node) Fail(calls Calls, code string) (end func()) {
	n.t.Helper()
	end, _ = n.disturb(calls, faults.Fault{Error: n.errno(code)})
	return end
}

// FailAfter lets calls take effect and fail nevertheless, as when an answer is lost.
func (n *Node) FailAfter(calls Calls, code string) (end func()) {
	n.t.Helper()
	end, _ = n.disturb(calls, faults.Fault{Error: n.errno(code), After: true})
	return end
}

// Delay lets calls wait before they take effect, for a duration from a uniform distribution.
func (n *Node) Delay(calls Calls, least, most time.Duration) (end func()) {
	n.t.Helper()
	end, _ = n.disturb(calls, faults.Fault{Delay: faults.Delay{Min: least, Max: most}})
	return end
}

// Hang lets calls wait until release is called, the node reboots or the test ends. The channel reached is closed when the
// first call waits.
func (n *Node) Hang(calls Calls) (reached <-chan struct{}, release func()) {
	n.t.Helper()
	release, reached = n.disturb(calls, faults.Fault{Hang: true})
	return reached, release
}

func (n *Node) disturb(calls Calls, fault faults.Fault) (end func(), reached <-chan struct{}) {
	n.t.Helper()
	fault.Function, fault.Skip, fault.Times = calls.Function, calls.Skip, calls.Times
	if calls.ControlCode != "" {
		code, err := win32.ParseControlCode(calls.ControlCode)
		n.must("disturbing calls", err)
		fault.Code = code
	}
	id, reached, err := n.agent.Faults().Add(fault)
	n.must("disturbing calls", err)
	return func() { n.agent.Faults().Remove(id) }, reached
}

func (n *Node) errno(text string) win32.Errno {
	n.t.Helper()
	code, err := win32.ParseErrno(text)
	n.must("disturbing calls", err)
	return code
}
