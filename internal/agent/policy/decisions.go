// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	api "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
)

// OperatorHeader marks the calls of csi-proxyctl, which looks at a node: they are no driver's.
const OperatorHeader = "csi-proxy-operator"

// decided counts what a policy allowed and refused of the calls of drivers.
type decided struct {
	mu               sync.Mutex
	allowed, refused int64
	method           string    // of the last refused call, as policies write it
	text             string    // its error
	at               time.Time // when it was refused
}

// Decided counts a call that is over. Refusal is empty for one that the policy allowed.
func (p *Policy) Decided(path, refusal string) {
	d := &p.decided
	d.mu.Lock()
	defer d.mu.Unlock()
	if refusal == "" {
		d.allowed++
		return
	}
	d.refused++
	d.method, d.text, d.at = Written(path), refusal, time.Now()
}

// Decisions returns what the policy has decided since it was read.
func (p *Policy) Decisions() *api.PolicyDecisions {
	d := &p.decided
	d.mu.Lock()
	defer d.mu.Unlock()
	seen := &api.PolicyDecisions{File: p.name, Allowed: d.allowed, Refused: d.refused}
	if d.refused > 0 {
		seen.LastMethod, seen.LastError, seen.LastAge = d.method, d.text, durationpb.New(time.Since(d.at))
	}
	return seen
}
