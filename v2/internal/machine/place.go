// SPDX-License-Identifier: Apache-2.0

package machine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/inprocess"
)

// A Place is the machine of a HostAPI. The zero value is the machine that the process runs on, which is opened by the
// first call; calls there have only the node's own time limits.
type Place struct {
	ctx    context.Context // nil: context.Background()
	client *csiproxy.Client
	given  bool // by At; otherwise this machine
}

// At returns the place that a client reaches. The client belongs to the caller.
func At(client *csiproxy.Client) Place { return Place{client: client, given: true} }

// Within returns the same place for calls that end with a context.
func (p Place) Within(ctx context.Context) Place {
	p.ctx = ctx
	return p
}

// Client returns the client of the place and the context for its calls. Off Windows, this machine has no client.
func (p Place) Client() (context.Context, *csiproxy.Client, error) {
	if p.ctx == nil {
		p.ctx = context.Background()
	}
	switch {
	case !p.given:
		node, err := opened()
		if err != nil {
			return nil, nil, err
		}
		return p.ctx, node.Client(), nil
	case p.client == nil:
		return nil, nil, errors.New("hostapi.Over needs a client")
	}
	return p.ctx, p.client, nil
}

// Node returns this machine for what no client can do, and the context for its calls; nil if the place is a client's.
func (p Place) Node() (context.Context, *inprocess.Node, error) {
	ctx, _, err := p.Client()
	if err != nil || p.given {
		return ctx, nil, err
	}
	node, err := opened()
	return ctx, node, err
}

// opened is the machine. The whole process shares one, because it must share the locks, and New has no parameters to pass
// one. It is opened only once, and never closed because its last user is unknown.
var opened = sync.OnceValues(func() (*inprocess.Node, error) {
	node, err := inprocess.Open(options())
	if err != nil {
		return nil, fmt.Errorf("%w; hostapi.New uses this machine with %s and %s, hostapi.Over another client", err, KubeletDirVariable, WorkingDirsVariable)
	}
	return node, nil
})
