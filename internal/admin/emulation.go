// SPDX-License-Identifier: Apache-2.0

package admin

import (
	"github.com/kubernetes-csi/csi-proxy/internal/faults"
	"github.com/kubernetes-csi/csi-proxy/internal/journal"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/emulated"
	"github.com/kubernetes-csi/csi-proxy/internal/server"
)

// journalEntries is what the journal keeps: some hundred API calls with their kernel calls.
const journalEntries = 4096

// An Emulation is an emulated node with what watches and disturbs its calls. The zero value stands for a real node, which
// has neither, so that its calls pay nothing.
type Emulation struct {
	Node    *emulated.Node
	Journal *journal.Journal
	Faults  *faults.Set
}

// Watch sets up the journal and the faults of an emulated node. Crash ends the process, for faults that ask for it; nil: they
// are refused.
func Watch(n *emulated.Node, crash func()) Emulation {
	return Emulation{Node: n, Journal: journal.New(journalEntries, server.RequestID), Faults: faults.New(crash)}
}

// Interceptor stands around every kernel call, and around another interceptor, which may be nil.
func (e Emulation) Interceptor(inner kernel.Interceptor) kernel.Interceptor {
	return kernel.Chain(e.Journal.Intercept, inner, e.Faults.Intercept)
}

// Serve lets faults be added for the methods of endpoints that are about to be served.
func (e Emulation) Serve(endpoints []server.Endpoint) {
	var paths []string
	for _, endpoint := range endpoints {
		paths = append(paths, endpoint.Paths()...)
	}
	e.Faults.Serve(paths)
}

// Close ends what waits for the journal or hangs by a fault.
func (e Emulation) Close() {
	e.Journal.Close()
	e.Faults.Abort()
	e.Faults.Release()
}
