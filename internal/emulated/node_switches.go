// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/strictyaml"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
)

// SetSwitch changes the answer to one question for later calls. Effects of earlier calls stay. Errors: NOT_FOUND,
// INVALID_ARGUMENT.
func (n *Node) SetSwitch(name, answer string) error {
	known := setting.Find(scenario.Switches{}.List(),
		func(s *scenario.Switch) bool { return strings.EqualFold(s.Name, name) })
	if known == nil {
		return errdefs.NotFound.Errorf("NOT_FOUND", "switch %q: no such switch", name)
	}
	defer n.control()()
	next := n.state.Switches
	_, err := strictyaml.Decode("", []byte(known.Name+": "+answer), &next)
	if err != nil || strings.ContainsAny(answer, "\r\n") || next.Check() != nil {
		return errdefs.InvalidArgument.Errorf("INVALID_ARGUMENT", "invalid answer: %s is %q; it must be %s",
			known.Name, answer, known.Allowed())
	}
	if err := n.update(func(s *state) { s.Switches = next }); err != nil {
		return err
	}
	var errs []error
	for _, d := range n.disks { // how a zeroed disk reads is one of the questions
		errs = append(errs, d.refresh())
	}
	return errors.Join(errs...)
}
