// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/strictyaml"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/setting"
)

// The answers to MSR: when the Microsoft reserved partition appears after IOCTL_DISK_CREATE_DISK with a GPT.
const (
	MSRImmediate = "immediate" // the partition is there when the control code returns
	MSRDelayed   = "delayed"   // it is there at the third IOCTL_DISK_GET_DRIVE_LAYOUT_EX after that
	MSRLate      = "late"      // it comes just before the caller sets a layout, which has no room for it
	MSRNever     = "never"     // the caller must make it
)

// Switches are the node's answers to questions that the documentation of Windows leaves open. An agent must work with
// every combination. They are chosen when a node is made; SetSwitch changes one. docs/scenario-files.md has the
// questions.
type Switches struct {
	AttributesVersion      uint32 `yaml:"attributesVersion" form:"16 or 40"`
	CreateDiskClears       bool   `yaml:"createDiskClears"`
	OfflineDisksReadOnly   bool   `yaml:"offlineDisksReadOnly"`
	ClonesNeedWritable     bool   `yaml:"clonesNeedWritable"`
	DetachNeedsOffline     bool   `yaml:"detachNeedsOffline"`
	ZeroedDiskIsMBR        bool   `yaml:"zeroedDiskIsMBR"`
	MSR                    string `yaml:"msr" form:"immediate, delayed, late, never"`
	GrowPartitionRefreshes bool   `yaml:"growPartitionRefreshes"`
	VolumesArriveLate      bool   `yaml:"volumesArriveLate"`
	AutomountOff           bool   `yaml:"automountOff"`
	DisksInstallLate       bool   `yaml:"disksInstallLate"`
	ExtendOneSectorLess    bool   `yaml:"extendOneSectorLess"`
	LacksPrivileges        string `yaml:"lacksPrivileges" form:"none, or privileges separated by commas"`
	MountPointCallsDelete  bool   `yaml:"mountPointCallsDelete"`
	MappingsOutliveReboot  bool   `yaml:"mappingsOutliveReboot"`
	EmptyRootNotFound      bool   `yaml:"emptyRootNotFound"`
	Timing                 string `yaml:"timing" form:"none, windows"`
}

// DefaultSwitches returns the answers that Windows is believed to give.
func DefaultSwitches() Switches { return DefaultScenario().Switches }

// check refuses answers that do not exist.
func (s Switches) check() error {
	err := s.checkPrivileges()
	for _, one := range s.list() {
		if words := one.words(); !one.open() && !slices.Contains(words, one.Value) {
			err = errors.Join(err, fmt.Errorf("%s is %s, not %s", one.Name, one.Value, strings.Join(words, " or ")))
		}
	}
	return err
}

// UnmarshalYAML implements strictyaml.Unmarshaler. Words are in any case.
func (s *Switches) UnmarshalYAML(decode func(any) error) error {
	type plain Switches
	if err := decode((*plain)(s)); err != nil {
		return err
	}
	for i, one := range s.list() {
		field := reflect.ValueOf(s).Elem().Field(i)
		if field.Kind() != reflect.String || one.Value == "" || one.open() {
			continue
		}
		words := one.words()
		i, err := setting.WordIndex(one.Value, words...)
		if err != nil {
			return strictyaml.At(err, one.Name)
		}
		field.SetString(words[i])
	}
	return nil
}

var (
	// ErrNoSuchSwitch means that no switch has the name.
	ErrNoSuchSwitch = errors.New("no such switch")
	// ErrInvalidSwitch means that a switch does not accept the answer.
	ErrInvalidSwitch = errors.New("invalid answer")
)

// A Switch is one of the Switches as text.
type Switch struct {
	Name  string // as in scenario files
	Value string
	Form  string // the allowed values: "true or false"
}

// words returns the answers of a switch that is not open.
func (s Switch) words() []string {
	return strings.Split(strings.ReplaceAll(s.Form, " or ", ", "), ", ")
}

// open reports whether a switch has more answers than a list names.
func (s Switch) open() bool { return s.Name == "lacksPrivileges" }

// list returns the switches as text, in their order.
func (s Switches) list() (all []Switch) {
	for field := range reflect.TypeFor[Switches]().Fields() {
		value := fmt.Sprint(reflect.ValueOf(s).FieldByIndex(field.Index))
		all = append(all, Switch{field.Tag.Get("yaml"), value, cmp.Or(field.Tag.Get("form"), "true or false")})
	}
	return all
}

// Switches returns the switches, in the order of the scenario's keys.
func (n *Node) Switches() []Switch {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state.Switches.list()
}

// SetSwitch changes the answer to one question for later calls. Effects of earlier calls stay. Errors: ErrNoSuchSwitch,
// ErrInvalidSwitch.
func (n *Node) SetSwitch(name, answer string) error {
	known := setting.Find(Switches{}.list(), func(s *Switch) bool { return strings.EqualFold(s.Name, name) })
	if known == nil {
		return fmt.Errorf("switch %q: %w", name, ErrNoSuchSwitch)
	}
	return n.control(func() error {
		next := n.state.Switches
		_, err := strictyaml.Decode("", []byte(known.Name+": "+answer), &next)
		if err != nil || strings.ContainsAny(answer, "\r\n") || next.check() != nil {
			return fmt.Errorf("%w: %s is %q; it must be one of these: %s", ErrInvalidSwitch, known.Name, answer, known.Form)
		}
		if err := n.update(func(s *state) { s.Switches = next }); err != nil {
			return err
		}
		n.retime()
		var errs []error
		for _, d := range n.disks { // how a zeroed disk reads is one of the questions
			errs = append(errs, d.refresh())
		}
		return errors.Join(errs...)
	})
}
