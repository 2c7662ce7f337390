// SPDX-License-Identifier: Apache-2.0

// Package machine is the common part of the groups' packages: the client of their calls. Calls through New go to the
// machine that the process runs on, which all groups share.
package machine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/inprocess"
)

// Invalid returns the error of a request that a group refuses without a call.
func Invalid(group, method, reason, message string) error {
	return &csiproxy.Error{Group: group, Method: method, Code: codes.InvalidArgument, Reason: reason, Message: message}
}

// A Backend serves the calls of a HostAPI. The zero value is that of New, which the first call opens: the machine that
// the process runs on, where calls have only the node's own time limits, or an agent.
type Backend struct {
	ctx    context.Context // nil: context.Background()
	client *csiproxy.Client
	given  bool // by ForClient; otherwise that of New
}

// ForClient returns the backend that a client reaches. The client belongs to the caller.
func ForClient(client *csiproxy.Client) Backend { return Backend{client: client, given: true} }

// Within returns the same backend for calls that end with a context.
func (p Backend) Within(ctx context.Context) Backend {
	p.ctx = ctx
	return p
}

// Client returns the client of the backend and the context for its calls. Off Windows, this machine has no client.
func (p Backend) Client() (context.Context, *csiproxy.Client, error) {
	if p.ctx == nil {
		p.ctx = context.Background()
	}
	switch {
	case !p.given:
		of, err := opened()
		return p.ctx, of.client, err
	case p.client == nil:
		return nil, nil, errors.New("hostapi.FromClient needs a client")
	}
	return p.ctx, p.client, nil
}

// Node returns this machine for what no client can do, and the context for its calls; nil if the backend is an agent,
// or a client that does not reach this machine.
func (p Backend) Node() (context.Context, *inprocess.Node, error) {
	ctx, client, err := p.Client()
	if err != nil {
		return ctx, nil, err
	}
	if p.given {
		return ctx, inprocess.Of(client), nil
	}
	of, err := opened()
	return ctx, of.node, err
}

// ofNew is the backend of New.
type ofNew struct {
	client *csiproxy.Client
	node   *inprocess.Node // nil with an agent
}

// opened is the backend of New. The whole process shares one, because it must share the locks, and New has no
// parameters to pass one. It is opened only once, and never closed because its last user is unknown.
var opened = sync.OnceValues(open)

func open() (ofNew, error) {
	switch where := os.Getenv(HostAPIVariable); where {
	case "agent":
		return ofNew{client: csiproxy.New(csiproxy.Options{})}, nil
	case "", "in-process":
	default:
		return ofNew{}, fmt.Errorf("%s is %q; set it to agent or to in-process, the default", HostAPIVariable, where)
	}
	node, err := inprocess.Open(options())
	if err != nil {
		return ofNew{}, fmt.Errorf("%w; hostapi.New uses this machine with %s and %s, or an agent with %s=agent, and "+
			"hostapi.FromClient another client",
			err, KubeletDirVariable, WorkingDirsVariable, HostAPIVariable)
	}
	return ofNew{node.Client(), node}, nil
}
