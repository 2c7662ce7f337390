// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/strictyaml"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/scenario"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
)

var (
	// ErrNoSuchSwitch means that no switch has the name.
	ErrNoSuchSwitch = errors.New("no such switch")
	// ErrInvalidSwitch means that a switch does not accept the answer.
	ErrInvalidSwitch = errors.New("invalid answer")
)

// SetSwitch changes the answer to one question for later calls. Effects of earlier calls stay. Errors: ErrNoSuchSwitch,
// ErrInvalidSwitch.
func (n *Node) SetSwitch(name, answer string) error {
	known := setting.Find(scenario.Switches{}.List(),
		func(s *scenario.Switch) bool { return strings.EqualFold(s.Name, name) })
	if known == nil {
		return fmt.Errorf("switch %q: %w", name, ErrNoSuchSwitch)
	}
	return n.control(func() error {
		next := n.state.Switches
		_, err := strictyaml.Decode("", []byte(known.Name+": "+answer), &next)
		if err != nil || strings.ContainsAny(answer, "\r\n") || next.Check() != nil {
			return fmt.Errorf("%w: %s is %q; it must be one of these: %s", ErrInvalidSwitch, known.Name, answer, known.Form)
		}
		if err := n.update(func(s *state) { s.Switches = next }); err != nil {
			return err
		}
		var errs []error
		for _, d := range n.disks { // how a zeroed disk reads is one of the questions
			errs = append(errs, d.refresh())
		}
		return errors.Join(errs...)
	})
}
