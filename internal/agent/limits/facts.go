// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"cmp"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
)

// Facts returns how full the limits are: those of all clients together, then each client's.
func (cs *Clients) Facts() (facts []*api.Limit) {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	add := func(process, what string, used, most int) *api.Limit {
		l := &api.Limit{Process: process, What: what, Used: int64(used), Most: int64(most)}
		facts = append(facts, l)
		return l
	}
	l := cs.limits
	add("", "calls", cs.calls, l.Calls)
	add("", "operations", cs.slots, l.Operations)
	add("", "connections", cs.conns, l.Connections)
	for c := range cs.clients {
		process, waits := c.peer.String(), 0
		for _, conn := range c.conns {
			waits = max(waits, conn.waits)
		}
		calls := add(process, "calls", c.calls, l.ClientCalls)
		if !c.lastRefused.IsZero() {
			calls.RefusedAge = durationpb.New(time.Since(c.lastRefused))
		}
		add(process, "operations", len(c.slots), l.ClientOperations)
		add(process, "connections", len(c.conns), l.ClientConnections)
		add(process, "waits", waits, l.ConnectionWaits)
	}
	slices.SortStableFunc(facts, func(a, b *api.Limit) int { return cmp.Compare(a.GetProcess(), b.GetProcess()) })
	return facts
}
