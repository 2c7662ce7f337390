// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/strictyaml"
)

// The answers to MSR: when the Microsoft reserved partition appears after IOCTL_DISK_CREATE_DISK with a GPT.
const (
	MSRImmediate = "immediate" // the partition is there when the control code returns
	MSRDelayed   = "delayed"   // it is there at the third IOCTL_DISK_GET_DRIVE_LAYOUT_EX after that
	MSRLate      = "late"      // it comes just before the caller sets a layout, which has no room for it
	MSRNever     = "never"     // the caller must make it
)

// Switches are the node's answers to questions that the documentation of Windows leaves open. An agent must work with
// every combination. They are chosen when a node is made; SetSwitch changes one.
type Switches struct {
	AttributesVersion    uint32 `yaml:"attributesVersion"`    // 40 or 16, as `IOCTL_DISK_SET_DISK_ATTRIBUTES` wants it
	CreateDiskClears     bool   `yaml:"createDiskClears"`     // a new partition table makes a disk online and writable
	OfflineDisksReadOnly bool   `yaml:"offlineDisksReadOnly"` // disks that arrive offline are read-only too
	// true by default: a clone arrives offline and read-only, and must be writable to come online ([csi-proxy
	// #287](https://github.com/kubernetes-csi/csi-proxy/issues/287))
	ClonesNeedWritable bool `yaml:"clonesNeedWritable"`
	DetachNeedsOffline bool `yaml:"detachNeedsOffline"` // the cloud detaches no disk that is online
	ZeroedDiskIsMBR    bool `yaml:"zeroedDiskIsMBR"`    // a zeroed disk reads as an empty MBR
	// when the reserved partition comes: `immediate`, `delayed`, `late`, `never`
	MSR string `yaml:"msr"`
	// `IOCTL_DISK_GROW_PARTITION` moves a grown disk's backup header
	GrowPartitionRefreshes bool `yaml:"growPartitionRefreshes"`
	// volumes of new partitions and onlined disks arrive late, and learn late that they can grow
	VolumesArriveLate   bool `yaml:"volumesArriveLate"`
	AutomountOff        bool `yaml:"automountOff"`        // new volumes stay offline, as after `mountvol /N`
	DisksInstallLate    bool `yaml:"disksInstallLate"`    // a new disk is listed only after a rescan and its installation
	ExtendOneSectorLess bool `yaml:"extendOneSectorLess"` // `FSCTL_EXTEND_VOLUME` wants one sector less than the partition
	// `none`, or, with commas, `SeCreateSymbolicLinkPrivilege`, `SeLoadDriverPrivilege` and `SeManageVolumePrivilege`
	// (growing fails; not confirmed)
	LacksPrivileges string `yaml:"lacksPrivileges"`
	// mount point calls open the directory for deletion, which [the agent's handle](decisions/paths-by-handle.md) prevents
	MountPointCallsDelete bool `yaml:"mountPointCallsDelete"`
	// true by default: mappings stay, *Disconnected* and without credentials ([csi-driver-smb
	// #219](https://github.com/kubernetes-csi/csi-driver-smb/issues/219))
	MappingsOutliveReboot bool `yaml:"mappingsOutliveReboot"`
	// true by default: an empty root directory lists as `ERROR_FILE_NOT_FOUND` ([Go](https://github.com/golang/go/issues/61159))
	EmptyRootNotFound bool   `yaml:"emptyRootNotFound"`
	Timing            string `yaml:"timing"` // `none` or `windows`: [how long calls take](emulated-node.md#time)
}

// answers are the allowed answers of the switches that are not true or false.
var answers = map[string][]string{ // never changes
	"attributesVersion": {"16", "40"},
	"msr":               {MSRImmediate, MSRDelayed, MSRLate, MSRNever},
	"lacksPrivileges":   append([]string{"none"}, KnownPrivileges()...),
	"timing":            {"none", TimingWindows},
}

// Check refuses answers that do not exist.
func (s Switches) Check() error {
	for _, one := range s.List() {
		given, allowed := []string{one.Value}, one.Answers
		if one.Name == "lacksPrivileges" && one.Value != allowed[0] { // not none
			given, allowed = strings.Split(one.Value, ","), allowed[1:]
		}
		for _, answer := range given {
			if !slices.Contains(allowed, answer) {
				return strictyaml.At(fmt.Errorf("it is %q; it must be %s", one.Value, one.Allowed()), one.Name)
			}
		}
	}
	return nil
}

// UnmarshalYAML implements strictyaml.Unmarshaler. Words are in any case.
func (s *Switches) UnmarshalYAML(decode func(any) error) error {
	type plain Switches
	err := decode((*plain)(s))
	s.MSR, s.Timing = strings.ToLower(s.MSR), strings.ToLower(s.Timing)
	return err
}

// A Switch is one of the Switches as text.
type Switch struct {
	Name    string // as in scenario files
	Value   string
	Answers []string // the allowed ones
}

// Allowed says which answers are allowed.
func (s Switch) Allowed() string {
	text := "one of " + strings.Join(s.Answers, ", ")
	if s.Name == "lacksPrivileges" {
		text += ", or several privileges separated by commas"
	}
	return text
}

// List returns the switches as text, in their order.
func (s Switches) List() (all []Switch) {
	for field := range reflect.TypeFor[Switches]().Fields() {
		name, allowed := field.Tag.Get("yaml"), []string{"true", "false"}
		if several, are := answers[name]; are {
			allowed = several
		}
		all = append(all, Switch{name, fmt.Sprint(reflect.ValueOf(s).FieldByIndex(field.Index)), allowed})
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

// KnownPrivileges returns their names.
func KnownPrivileges() []string { return []string{CreateSymbolicLink, LoadDriver, ManageVolume} }

// LacksPrivilege reports whether the process does not have a privilege.
func (s Switches) LacksPrivilege(privilege string) bool {
	return slices.Contains(strings.Split(s.LacksPrivileges, ","), privilege)
}

// TimingWindows is the answer to Timing by which calls take about as long as on a Windows node.
const TimingWindows = "windows"
