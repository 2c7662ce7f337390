// SPDX-License-Identifier: Apache-2.0

package csiproxytest

import (
	"fmt"
	"time"

	"google.golang.org/grpc/codes"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
)

// Calls selects calls to disturb: of a kernel function, or of API methods. Node.Journal shows such calls. A selection
// that no call meets is named in the test's log when the test ends.
type Calls struct {
	// Function is a kernel function: "SetVolumeMountPoint", "DeviceIoControl".
	Function string
	// ControlCode selects calls of DeviceIoControl by name or number: "IOCTL_DISK_CREATE_DISK". Empty: all.
	ControlCode string
	// Object selects kernel calls whose object contains this text, in any case: "physicaldrive3". Empty: all.
	Object string
	// Method selects API calls instead: "disk/ListDiskIDs" in all versions, "disk/v1beta3/ListDiskIDs" in one, "volume",
	// "*/MountVolume", "*".
	Method string
	// Skip is how many such calls pass first.
	Skip int
	// Times is how many are then disturbed; 0: all.
	Times int
}

// Fail makes kernel calls fail before they take effect. The disturbance ends with the node, or earlier by calling end.
func (n *Node) Fail(calls Calls, code WindowsError) (end func()) {
	n.t.Helper()
	_, end = n.inject(calls, &nodeapi.Fault{Fail: fmt.Sprint(uint32(code))})
	return end
}

// FailAfter makes kernel calls take effect and then fail.
func (n *Node) FailAfter(calls Calls, code WindowsError) (end func()) {
	n.t.Helper()
	_, end = n.inject(calls, &nodeapi.Fault{Fail: fmt.Sprint(uint32(code)), AfterEffect: true})
	return end
}

// FailRPC makes API calls fail with a gRPC status before they take effect.
func (n *Node) FailRPC(calls Calls, code codes.Code, message string) (end func()) {
	n.t.Helper()
	_, end = n.inject(calls, &nodeapi.Fault{Status: fmt.Sprint(uint32(code)), Message: message})
	return end
}

// FailRPCAfter makes API calls take effect and then fail.
func (n *Node) FailRPCAfter(calls Calls, code codes.Code, message string) (end func()) {
	n.t.Helper()
	_, end = n.inject(calls, &nodeapi.Fault{Status: fmt.Sprint(uint32(code)), Message: message, AfterEffect: true})
	return end
}

// Cut closes the connection of API calls before they take effect: the driver gets UNAVAILABLE.
func (n *Node) Cut(calls Calls) (end func()) {
	n.t.Helper()
	_, end = n.inject(calls, &nodeapi.Fault{Cut: true})
	return end
}

// CutAfter closes the connection of API calls after they took effect: the driver gets UNAVAILABLE and cannot know that
// its call succeeded.
func (n *Node) CutAfter(calls Calls) (end func()) {
	n.t.Helper()
	_, end = n.inject(calls, &nodeapi.Fault{Cut: true, AfterEffect: true})
	return end
}

// Delay makes calls wait before they take effect, for a random duration between least and most.
func (n *Node) Delay(calls Calls, least, most time.Duration) (end func()) {
	n.t.Helper()
	_, end = n.inject(calls, &nodeapi.Fault{Delay: fmt.Sprintf("%v-%v", least, most)})
	return end
}

// Hang makes calls wait until release is called, the node reboots or the test ends. An API call whose caller gives up
// stops waiting and takes no effect. The channel reached is closed when the first call waits.
func (n *Node) Hang(calls Calls) (reached <-chan struct{}, release func()) {
	n.t.Helper()
	return n.inject(calls, &nodeapi.Fault{Hang: true})
}

// HangAfter makes calls take effect and then wait as with Hang.
func (n *Node) HangAfter(calls Calls) (reached <-chan struct{}, release func()) {
	n.t.Helper()
	return n.inject(calls, &nodeapi.Fault{Hang: true, AfterEffect: true})
}

func (n *Node) inject(calls Calls, fault *nodeapi.Fault) (reached <-chan struct{}, end func()) {
	n.t.Helper()
	if calls.Skip < 0 || calls.Times < 0 {
		n.t.Fatalf("disturbing calls: the counts of %+v must not be negative", calls)
	}
	fault.Function, fault.ControlCode, fault.Object = calls.Function, calls.ControlCode, calls.Object
	fault.Method, fault.Skip, fault.Times = calls.Method, uint32(calls.Skip), uint32(calls.Times)
	set := n.emulation().Faults
	id, reached, err := set.Add(fault)
	n.must("disturbing calls", err)
	n.t.Cleanup(func() {
		for _, f := range set.List() {
			if f.GetId() == id && f.GetDisturbed() == 0 {
				n.t.Logf("csiproxytest: no call met %+v; the journal shows the functions and objects of calls", calls)
			}
		}
	})
	return reached, func() { set.Remove(id) }
}
