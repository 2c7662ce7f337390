// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/threads"
)

// The facilities are the parts of Windows that have places for kernel calls of their own, so that one that hangs does not
// hold up the others.
const (
	fileCalls = iota
	deviceCalls
	deviceChanges // the calls of deviceCalls that belong to a change
	iscsiCalls
	serviceCalls
	shareCalls
	firmwareCalls
	quickCalls // calls that do not block, or of which few run anyway
)

// changePlaces is how many calls of changes may be in disks and volumes. Such a call waits for its device, each for another one,
// and nearly all of a volume's stage is such calls: with fewer places the pods of a node that starts would wait for each other.
const changePlaces = 64

// newRoom returns the places of a node's kernel calls. An operation asks as many disks side by side as there are places for
// reads of devices. The other facilities are services that work through their calls one by one, or nearly.
func newRoom() *threads.Room {
	return threads.New(16, askWidth, changePlaces, 4, 4, 4, 2)
}

// facilityOf returns the facility that a kernel call asks.
func facilityOf(call kernel.Call) int {
	switch call.Function {
	case "SystemWindowsDirectory", "EnablePrivilege", "RegistryStrings":
		return quickCalls // Windows has the answer in memory
	case "CreateSMBGlobalMapping", "FormatVolume":
		return quickCalls // see few
	case "OpenFile", "Rename":
		return fileCalls
	case "Close", "DeviceIoControl", "ReadAt", "Flush", "FinalPath", "Information", "SetInformation":
		if call.Device {
			return deviceCalls
		}
		return fileCalls
	case "QueryService", "StartService", "StopService", "DependentServices":
		return serviceCalls
	case "SMBGlobalMappings", "RemoveSMBGlobalMapping":
		return shareCalls
	case "SystemFirmwareTable":
		return firmwareCalls
	}
	if strings.Contains(call.Function, "ISCSI") {
		return iscsiCalls
	}
	return deviceCalls
}

// gate waits until a kernel call of the operation may begin. An operation that has not begun any is given up when nobody
// waits for it any more; one that has goes on, as it does when it hangs in Windows.
func (o *op) gate(call kernel.Call) (leave func(), err error) {
	if f := facilityOf(call); f != quickCalls {
		place := o.placeFor(f, call)
		if place == nil {
			return nil, abandonedRead(o.caller, o.operation.String())
		}
		leave = place.Leave
	}
	if !o.acted && o.flight != nil && !o.node.act(o.flight) {
		if leave != nil {
			leave()
		}
		return nil, abandonedRead(o.caller, o.operation.String())
	}
	o.acted = true
	return leave, nil
}

// placeFor waits for a kernel call's place. It returns nil when the operation is given up. One that asks an object for another
// operation can be given up between its calls.
func (o *op) placeFor(f int, call kernel.Call) *threads.Call {
	var gone <-chan struct{}
	if !o.acted || o.queued != nil && call.Function != "Close" {
		gone = o.caller.Done()
	}
	if f == deviceCalls && !o.reads {
		f = deviceChanges
	}
	defer o.queued.wait()()
	return o.node.room.Enter(gone, threads.Want{
		Facility: f, Client: o.client, Object: o.hangsAt, Read: o.reads, First: !o.acted, Close: call.Function == "Close",
	})
}

// KernelCalls returns how many kernel calls wait for a place, and how many are late.
func (n *Node) KernelCalls() (waiting, late int) { return n.room.Counts() }

// kernelFor returns the kernel for one of the objects that an operation asks side by side, whose number the interceptor learns,
// or with 0 for an operation that asks no other.
func (o *op) kernelFor(ctx context.Context, part int) kernel.Kernel {
	around := o.node.around
	if around != nil && part != 0 {
		around = func(ctx context.Context, call kernel.Call, do func() error) error {
			call.Part = part
			return o.node.around(ctx, call, do)
		}
	}
	return kernel.Gated(ctx, o.node.kernel, o.gate, around)
}
