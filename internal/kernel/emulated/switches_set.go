// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

var (
	// ErrNoSuchSwitch says that there is no switch of the name.
	ErrNoSuchSwitch = errors.New("no such switch")
	// ErrInvalidSwitch says that a switch does not take the answer.
	ErrInvalidSwitch = errors.New("invalid answer")
)

// A Switch is one of the Switches as text.
type Switch struct {
	Name  string // as in scenario files
	Value string
	Form  string // what it may be: "true or false"
	About string
}

// Switches lists the switches, in the order of the scenario's keys.
func (n *Node) Switches() ([]Switch, error) {
	text, err := json.Marshal(n.switches())
	if err != nil {
		return nil, err
	}
	values := map[string]json.RawMessage{} // their JSON has the names of the keys
	if err := json.Unmarshal(text, &values); err != nil {
		return nil, err
	}
	var list []Switch
	for _, k := range switchKeys().keys {
		list = append(list, Switch{k.name, strings.Trim(string(values[k.name]), `"`), k.form, k.about})
	}
	return list, nil
}

// SetSwitch answers one question otherwise, for the calls from now on. What was done already stays as it is.
// ErrNoSuchSwitch, ErrInvalidSwitch.
func (n *Node) SetSwitch(name, answer string) error {
	m := switchKeys()
	i := slices.IndexFunc(m.keys, func(k key[Switches]) bool { return strings.EqualFold(k.name, name) })
	if i < 0 {
		return fmt.Errorf("switch %q: %w", name, ErrNoSuchSwitch)
	}
	v := value{path: m.keys[i].name, node: &yaml.Node{Kind: yaml.ScalarNode, Value: answer}}
	n.identity.Lock()
	defer n.identity.Unlock()
	next := n.switches()
	err := m.keys[i].read(&next, v)
	if err == nil {
		err = v.wrap(m.check(next))
	}
	if problem := (*ScenarioError)(nil); errors.As(err, &problem) {
		return fmt.Errorf("%w: %s", ErrInvalidSwitch, problem.Problem)
	}
	if err != nil {
		return err
	}
	if err := n.update(func(s *state) { s.Switches = next }); err != nil {
		return err
	}
	for _, d := range n.diskList() { // how a zeroed disk reads is one of the questions
		d.mu.Lock()
		if !d.gone {
			err = errors.Join(err, d.refresh())
		}
		d.mu.Unlock()
	}
	return err
}
