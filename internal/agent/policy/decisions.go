// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"sync"
	"time"
)

// OperatorHeader marks the calls of csi-proxyctl, which looks at a node: they are no driver's.
const OperatorHeader = "csi-proxy-operator"

// Decisions count what a policy allowed and refused of the calls of drivers.
type Decisions struct {
	File             string
	Allowed, Refused int64
	Method           string    // of the last refused call, as policies write it
	Text             string    // its error
	At               time.Time // when it was refused
}

// decided guards the Decisions of a policy.
type decided struct {
	mu sync.Mutex
	Decisions
}

// Decided counts a call that is over. Refusal is empty for one that the policy allowed.
func (p *Policy) Decided(path, refusal string) {
	p.decided.mu.Lock()
	defer p.decided.mu.Unlock()
	if refusal == "" {
		p.decided.Allowed++
		return
	}
	p.decided.Refused++
	p.decided.Method, p.decided.Text, p.decided.At = Written(path), refusal, time.Now()
}

// Decisions returns what the policy has decided since it was read.
func (p *Policy) Decisions() Decisions {
	p.decided.mu.Lock()
	defer p.decided.mu.Unlock()
	d := p.decided.Decisions
	d.File = p.name
	return d
}
