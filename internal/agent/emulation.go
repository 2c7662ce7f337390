// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/server"
)

// An Emulation is what surrounds an emulated node: the journal and the faults of its calls, and its control. A real
// node has none, so that they cost its calls nothing and its agent does not link them.
type Emulation interface {
	// Interceptor returns an interceptor of all kernel calls, around another one, which may be nil.
	Interceptor(inner kernel.Interceptor) kernel.Interceptor
	// Disturb returns endpoints that are about to be served, with the faults of their calls.
	Disturb(endpoints []server.Endpoint) []server.Endpoint
	// Record records a call of the API or of the admin endpoint in the journal.
	Record(c server.CallInfo) server.Record
	// Control returns the admin endpoint's service that changes the node under an agent and has the journal.
	Control(a *Agent) server.Service
	// Abort makes calls that are held fail: the node reboots.
	Abort()
	// Stopping ends the calls that wait for the journal: the agent is told to stop.
	Stopping()
	// Close makes the calls that are still held fail, and ends all faults: running calls have had their time.
	Close()
}
