// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"time"

	"google.golang.org/protobuf/proto"
)

// A Method is a method of the API's newest versions, as its row in the table of its group describes it. Whatever
// depends on a method's nature asks the row: limits, locks, policies, the suites that go through all methods.
type Method struct {
	Group string // "volume"
	Name  string // "MountVolume"
	// OnlyIn is the old version that alone has the method; empty: it is one of the newest version's.
	OnlyIn string
	// Reads: it changes nothing on the node or on a server. It takes no locks, and ends with its caller's patience.
	Reads bool
	// Limit is how long a call may take when its caller sets no shorter deadline.
	Limit time.Duration
	// Fresh: the result must not be older than the call, as that of a change which looks, waits or flushes, so it joins
	// only an identical call that has not begun.
	Fresh bool

	// NewRequest returns an empty request of the method.
	NewRequest func() proto.Message
	// Call makes a call with a request that NewRequest made, for a client that may reach what n may.
	Call func(ctx context.Context, n *Node, request proto.Message) (proto.Message, error)

	meanings fields
}

// Limits of calls. Kubelet and the drivers give up after about two minutes: a longer call would hide the reason.
const (
	LimitRead  = 30 * time.Second  // reads, changes nothing
	LimitWrite = 60 * time.Second  // changes a little
	LimitLong  = 110 * time.Second // waits for disks or for a file system
)

// reads is the row of a method that changes nothing.
func reads[G group, Request, Response any](name string,
	do func(*G, context.Context, *Request) (*Response, error), means fields) Method {
	m := row(name, do, means)
	m.Reads, m.Limit = true, LimitRead
	return m
}

// changes is the row of a method that may change something.
func changes[G group, Request, Response any](name string, limit time.Duration,
	do func(*G, context.Context, *Request) (*Response, error), means fields) Method {
	m := row(name, do, means)
	m.Limit = limit
	return m
}

// group is the type of an API group, whose methods are those of the API.
type group interface{ ~struct{ node *Node } }

func row[G group, Request, Response any](name string, do func(*G, context.Context, *Request) (*Response, error),
	means fields) Method {
	message := func(m any) proto.Message { return m.(proto.Message) } //nolint:forcetypeassert // generated types are
	return Method{
		Name: name, meanings: means,
		NewRequest: func() proto.Message { return message(new(Request)) },
		Call: func(ctx context.Context, n *Node, request proto.Message) (proto.Message, error) {
			response, err := do(&G{node: n}, ctx, any(request).(*Request)) //nolint:forcetypeassert // NewRequest made it
			if err != nil {
				return nil, err
			}
			return message(response), nil
		},
	}
}

// fresh is the row of a method whose result must be newer than the call.
func fresh(m Method) Method {
	m.Fresh = true
	return m
}

// only is the row of a method that one old version alone has.
func only(version string, m Method) Method {
	m.OnlyIn = version
	return m
}
