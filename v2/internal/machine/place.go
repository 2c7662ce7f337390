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

// A Place is where a HostAPI works. The zero value is the machine that the process runs on, which is opened with the
// first call; calls there have no limits of time but the node's own.
type Place struct {
	ctx    context.Context // nil: context.Background()
	client *csiproxy.Client
	given  bool // by At; the machine otherwise
}

// At is the place that a client reaches. It belongs to the caller.
func At(client *csiproxy.Client) Place { return Place{client: client, given: true} }

// Within is the same place for calls that end with a context.
func (p Place) Within(ctx context.Context) Place {
	p.ctx = ctx
	return p
}

// Client is the client of the place and the context for its calls. Off Windows there is none of the machine.
func (p Place) Client() (context.Context, *csiproxy.Client, error) {
	if p.ctx == nil {
		p.ctx = context.Background()
	}
	switch {
	case !p.given:
		client, err := opened()
		return p.ctx, client, err
	case p.client == nil:
		return nil, nil, errors.New("hostapi.Over was given no client")
	}
	return p.ctx, p.client, nil
}

// opened is the machine's client. It is one for the whole process, since locks have to be: what New takes, nothing,
// leaves no other place for it. It is never closed, as nobody knows the last user, and only opened once.
var opened = sync.OnceValues(func() (*csiproxy.Client, error) {
	node, err := inprocess.Open(options())
	if err != nil {
		return nil, fmt.Errorf("%w; hostapi.New is for this machine as %s and %s describe it, hostapi.Over takes another client", err, KubeletDirVariable, WorkingDirsVariable)
	}
	return node.Client(), nil
})
