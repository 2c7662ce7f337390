// SPDX-License-Identifier: Apache-2.0

package scenario

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

// Check refuses answers that do not exist.
func (s Switches) Check() error {
	err := s.checkPrivileges()
	for _, one := range s.List() {
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
	for i, one := range s.List() {
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

// List returns the switches as text, in their order.
func (s Switches) List() (all []Switch) {
	for field := range reflect.TypeFor[Switches]().Fields() {
		value := fmt.Sprint(reflect.ValueOf(s).FieldByIndex(field.Index))
		all = append(all, Switch{field.Tag.Get("yaml"), value, cmp.Or(field.Tag.Get("form"), "true or false")})
	}
	return all
}

// The privileges of the agent's process that the node knows; the agent asks for no others. As in the token of
// LocalSystem or of an administrator, they are there and not enabled.
//
// https://learn.microsoft.com/windows/win32/services/localsystem-account
const (
	CreateSymbolicLink = "SeCreateSymbolicLinkPrivilege"
	LoadDriver         = "SeLoadDriverPrivilege"
	ManageVolume       = "SeManageVolumePrivilege"
)

// lacksNone is the answer of the switch lacksPrivileges for a process that has them all.
const lacksNone = "none"

// KnownPrivileges returns their names.
func KnownPrivileges() []string { return []string{CreateSymbolicLink, LoadDriver, ManageVolume} }

// LacksPrivilege reports whether the process does not have a privilege.
func (s Switches) LacksPrivilege(privilege string) bool {
	return slices.Contains(strings.Split(s.LacksPrivileges, ","), privilege)
}

func (s Switches) checkPrivileges() error {
	if s.LacksPrivileges == lacksNone {
		return nil
	}
	for name := range strings.SplitSeq(s.LacksPrivileges, ",") {
		if !slices.Contains(KnownPrivileges(), name) {
			return fmt.Errorf("lacksPrivileges names %q, not %s or one of %s", name, lacksNone,
				strings.Join(KnownPrivileges(), ", "))
		}
	}
	return nil
}

// TimingWindows is the answer to Timing by which calls take about as long as on a Windows node.
const TimingWindows = "windows"
