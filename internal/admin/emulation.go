// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"github.com/kubernetes-csi/csi-proxy/internal/faults"
	"github.com/kubernetes-csi/csi-proxy/internal/journal"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
)

// journalEntries is the size of the journal: some hundred API calls with their kernel calls.
const journalEntries = 4096

// An Emulation is an emulated node with the journal and the faults of its calls. The zero value stands for a real node,
// which has neither, so that they cost its calls nothing.
type Emulation struct {
	Node    *emulated.Node
	Journal *journal.Journal
	Faults  *faults.Set
}

// Watch sets up the journal and the faults of an emulated node. Crash ends the process for faults that ask for it; if it
// is nil, they are refused.
func Watch(n *emulated.Node, crash func()) Emulation {
	n.Hasten(false)
	return Emulation{Node: n, Journal: journal.New(journalEntries, server.RequestID), Faults: faults.New(crash)}
}

// Interceptor returns an interceptor of all kernel calls, around another one, which may be nil.
func (e Emulation) Interceptor(inner kernel.Interceptor) kernel.Interceptor {
	return kernel.Chain(e.Journal.Intercept, inner, e.Faults.Intercept, e.Node.TakeTime)
}

// Serve allows faults for the methods of endpoints that are about to be served.
func (e Emulation) Serve(endpoints []server.Endpoint) {
	var paths []string
	for _, endpoint := range endpoints {
		paths = append(paths, endpoint.Paths()...)
	}
	e.Faults.Serve(paths)
}

// Close ends the calls that wait for the journal or that a fault holds.
func (e Emulation) Close() {
	e.Journal.Close()
	e.Abort()
	e.Faults.Release()
}

// Abort makes the calls that a fault holds fail, and ends the waits of those that take time: the node reboots.
func (e Emulation) Abort() {
	e.Faults.Abort()
	e.Node.Hasten(true)
}
