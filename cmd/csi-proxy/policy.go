// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"k8s.io/klog/v2"

	"github.com/kubernetes-csi/csi-proxy/internal/policy"
)

// loadPolicy reads the policy; without the flag it is nil. An agent whose policy cannot be read does not start: it would
// have to serve everybody or nobody.
func (o *options) loadPolicy(logger klog.Logger) (*policy.Policy, error) {
	if o.policy == "" {
		return nil, nil //nolint:nilnil // off is not a failure
	}
	rules, err := policy.Load(o.policy)
	if err != nil {
		return nil, fmt.Errorf("-policy: %w", err)
	}
	logger.Info("clients may do what the policy allows", "policy", o.policy, "rules", len(rules.Rules()))
	return rules, nil
}

// warnOfPolicy says now why the service will not start.
func (c serviceCommand) warnOfPolicy(path string) {
	if path == "" {
		return
	}
	if _, err := policy.Load(path); err != nil {
		c.print("warning: the service will not start with -policy=%s: %v", path, err)
	}
}
