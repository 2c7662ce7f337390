// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"time"
)

// Limits bound what the clients of one server cost, whichever of its endpoints they use. A client is a process; where the
// system does not tell processes apart, each connection is one. A zero field is the default.
type Limits struct {
	// Calls is how many calls run at a time; others wait for their turn. A call whose caller gave up counts until its
	// operation on the node is over.
	Calls int
	// ClientCalls is how many of them one client may have.
	ClientCalls int
	// ClientWaiting is how many more calls of one client may wait; further ones are refused at once.
	ClientWaiting int
	// Connections is how many connections may be open.
	Connections int
	// ClientConnections is how many of them one client may have.
	ClientConnections int
	// Streams is how many streams may be open besides calls of the endpoints' own services: health checks, health watches
	// and reflection, unary or not.
	Streams int
	// ClientStreams is how many of them one client may have. Streams beyond either limit are refused at once.
	ClientStreams int
	// Bytes is how much the open streams of all clients may hold, whatever becomes of their calls: what the client sent, and a
	// lump for each. Beyond it, the connection that holds most is closed, of the client that holds most.
	Bytes int
	// ClientBytes is how much of it one client may hold.
	ClientBytes int
	// Runnable is how many goroutines may wait for each processor before what arrives waits, too; see brake.
	Runnable int
	// Handlers is how many goroutines may be at work, besides those of idle connections, before what clients with many open calls
	// send waits; see brake.
	Handlers int
	// Unread is how long a client may leave answers untaken, and one write unfinished, before its connection is closed.
	Unread time.Duration
	// Wait is how long a call waits for its turn before it is refused.
	Wait time.Duration
}

// complete returns the limits with the defaults filled in. A driver has a connection to each of a few endpoints and, when a
// node drains, a few dozen calls at a time; some drivers open a connection for each call and leave it to their garbage
// collector. So the limits are far beyond what a driver needs, and low enough that one client leaves three quarters of the
// slots to others, and that all clients that use them up at once stay below 256 MiB, the chart's memory limit. Probes and
// grpcurl have one stream open; a client that watches the health of its connections has at most one for each of the agent's
// two dozen endpoints. A stream costs about 20 KiB.
func (l Limits) complete() Limits {
	return Limits{
		Calls:             cmp.Or(l.Calls, 1024),
		ClientCalls:       cmp.Or(l.ClientCalls, 256),
		ClientWaiting:     cmp.Or(l.ClientWaiting, 1024),
		Connections:       cmp.Or(l.Connections, 2048),
		ClientConnections: cmp.Or(l.ClientConnections, 1024),
		Streams:           cmp.Or(l.Streams, 2048),
		ClientStreams:     cmp.Or(l.ClientStreams, 32),
		Bytes:             cmp.Or(l.Bytes, 64<<20),
		ClientBytes:       cmp.Or(l.ClientBytes, 32<<20),
		Runnable:          cmp.Or(l.Runnable, 8),
		Handlers:          cmp.Or(l.Handlers, 2048),
		Unread:            cmp.Or(l.Unread, 30*time.Second),
		Wait:              cmp.Or(l.Wait, 10*time.Second),
	}
}
