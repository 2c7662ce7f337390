// SPDX-License-Identifier: Apache-2.0

package limits

import (
	"cmp"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
)

// Facts returns the limits and how full they are.
func (cs *Clients) Facts() *api.Limits {
	cs.mu.Lock()
	defer cs.mu.Unlock()
	l := cs.limits
	facts := &api.Limits{Calls: usage(cs.calls, l.Calls), Operations: usage(cs.slots, l.Operations),
		Connections: usage(cs.conns, l.Connections)}
	for c := range cs.clients {
		waits := 0
		for _, conn := range c.conns {
			waits = max(waits, conn.waits)
		}
		client := &api.Client{Process: c.peer.String(), Calls: usage(c.calls, l.ClientCalls),
			Operations: usage(len(c.slots), l.ClientOperations), Connections: usage(len(c.conns), l.ClientConnections),
			Waits: usage(waits, l.ConnectionWaits), Queued: int64(c.waiters), Refused: int64(c.refused)}
		if c.refused > 0 {
			client.RefusedAge = durationpb.New(time.Since(c.lastRefused))
		}
		facts.Clients = append(facts.Clients, client)
	}
	slices.SortFunc(facts.Clients, func(a, b *api.Client) int { return cmp.Compare(a.GetProcess(), b.GetProcess()) })
	return facts
}

func usage(used, limit int) *api.Usage { return &api.Usage{Used: int64(used), Limit: int64(limit)} }
