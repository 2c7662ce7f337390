// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"time"
)

// policy judges what the operator's policy refuses to drivers.
func (r *report) policy() {
	p := r.Seen.GetPolicy()
	if p.GetRefused() == 0 {
		return
	}
	severity, what := Note, fmt.Sprintf("the policy refuses some calls of drivers: %d, and allowed %d", p.GetRefused(),
		p.GetAllowed())
	evidence := said(fmt.Sprintf("the last, %v ago: %s: %s", p.GetLastAge().AsDuration().Round(time.Second),
		p.GetLastMethod(), p.GetLastError()), "the policy is "+p.GetFile())
	if p.GetAllowed() == 0 {
		severity, what = Problem, fmt.Sprintf("the policy refuses all drivers: %d calls, the last was %s", p.GetRefused(),
			p.GetLastMethod())
		evidence = append(evidence, said("no volume is mounted, grown or unmounted meanwhile")...)
	}
	r.add(severity, "policy-refuses", what, evidence,
		command("csi-proxyctl policy test %s", argument{"FILE", p.GetFile()}),
		"if the caller is a driver of this node: let a rule describe it and allow the call, and restart the agent")
}
