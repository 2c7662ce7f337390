// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"

	"google.golang.org/protobuf/proto"

	"github.com/kubernetes-csi/csi-proxy/internal/winfs"
)

// authorize applies the policy's rules for client and method, before the call waits for a slot. It returns the call's
// context and the client's rule. Health checks and calls in this process need no rule.
func (p *interceptors) authorize(ctx context.Context, c *call, method string) (_ context.Context,
	rule string, refusal error) {
	if p.Policy == nil || c.conn == nil || isHealth(method) {
		return ctx, "", nil
	}
	r, err := p.Policy.RuleOf(c.client())
	if err != nil {
		return ctx, "", toStatus(err)
	}
	if err := r.Method(method); err != nil {
		return ctx, r.Name(), toStatus(err)
	}
	c.rule = r
	return winfs.WithScope(ctx, r), r.Name(), nil
}

// permitted applies the client's rule to what a request names. The request is the one that the handler gets: an old
// version's has been converted, so what is checked is what acts.
func permitted(ctx context.Context, request any) error {
	c := callOf(ctx)
	if c == nil || c.rule == nil {
		return nil
	}
	return c.rule.Request(request.(proto.Message)) //nolint:forcetypeassert // every request is one, and any other must not pass
}
