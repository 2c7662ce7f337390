// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"

	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/policy"
)

// authorize applies the policy to a call, and returns its rule's name. Health checks and calls in process need none.
func (p *interceptors) authorize(c *call, method string) (rule string, refusal error) {
	if !p.policed(c, method) {
		c.scope = operation.Everything()
		return "", nil
	}
	r, err := p.Policy.RuleOf(c.client())
	if err != nil {
		return "", toStatus(err)
	}
	if err := r.Method(method); err != nil {
		return r.Name(), toStatus(err)
	}
	c.rule, c.scope = r, operation.Within(r)
	return r.Name(), nil
}

// policed reports whether the policy decides about a call.
func (p *interceptors) policed(c *call, method string) bool {
	return p.Policy != nil && c.conn != nil && !isHealth(method)
}

// decided counts what the policy decided about a driver's call that is over.
func (p *interceptors) decided(ctx context.Context, c *call, method string, err error) {
	if !p.policed(c, method) || len(metadata.ValueFromIncomingContext(ctx, policy.OperatorHeader)) > 0 {
		return
	}
	refusal := ""
	if ReasonOf(err) == reason.Policy {
		refusal = status.Convert(err).Message()
	}
	p.Policy.Decided(method, refusal)
}

// ScopeOf returns what the client of the call may reach that a context belongs to: nothing without such a call.
func ScopeOf(ctx context.Context) operation.Scope {
	if c := callOf(ctx); c != nil {
		return c.scope
	}
	return operation.Scope{}
}

// permitted applies the client's rule to the request that acts: an old version's has been converted.
func permitted(ctx context.Context, request proto.Message) error {
	c := callOf(ctx)
	if c == nil || c.rule == nil {
		return nil
	}
	return c.rule.Request(request)
}
