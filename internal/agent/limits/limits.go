// SPDX-License-Identifier: Apache-2.0

// Package limits bounds what the clients of a server cost: their connections, their open calls and the operations that
// run for them. A client is a process; where the system does not tell processes apart, each connection is one.
package limits

import (
	"cmp"
	"time"
)

// Limits are the bounds of one server, whichever of its endpoints its clients use. A zero field is the default.
type Limits struct {
	// Connections is how many connections may be open, and ClientConnections how many of one client. Beyond either, the
	// connection that has been idle for longest is closed: of the client, or of the one that has most.
	Connections, ClientConnections int
	// Calls is how many calls may be open, and ClientCalls how many of one client. Further ones are refused.
	Calls, ClientCalls int
	// ConnectionWaits is how many calls of a connection may wait for hardware. Further ones are refused. It is below the
	// streams of a connection, or these waits would keep its other calls in the client.
	ConnectionWaits int
	// Operations is how many operations may run, and ClientOperations how many of one client. Further ones wait in order,
	// for at most Wait, and are then refused. An operation runs until it is over, though its caller may be gone.
	Operations, ClientOperations int
	// ClientReserved is how many calls, and how many operations, of each client do not count against Calls and Operations:
	// a client has them however busy others are.
	ClientReserved int
	Wait           time.Duration
	// Write is how long a client may leave one write unfinished before its connection is closed.
	Write time.Duration
}

// complete returns the limits with the defaults filled in. A driver has a few connections and, when a node drains, a
// few dozen calls. One client whose calls hang keeps some 70 threads, eight of them some 520; both stay below 256 MiB.
func (l Limits) complete() Limits {
	return Limits{
		Connections:       cmp.Or(l.Connections, 1024),
		ClientConnections: cmp.Or(l.ClientConnections, 128),
		Calls:             cmp.Or(l.Calls, 1024),
		ClientCalls:       cmp.Or(l.ClientCalls, 128),
		ConnectionWaits:   cmp.Or(l.ConnectionWaits, 48),
		Operations:        cmp.Or(l.Operations, 512),
		ClientOperations:  cmp.Or(l.ClientOperations, 64),
		ClientReserved:    cmp.Or(l.ClientReserved, 4),
		Wait:              cmp.Or(l.Wait, 10*time.Second),
		Write:             cmp.Or(l.Write, 30*time.Second),
	}
}
