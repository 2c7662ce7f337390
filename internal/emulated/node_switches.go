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
)

// The answers to MSR: when the Microsoft reserved partition appears after IOCTL_DISK_CREATE_DISK with a GPT.
const (
	MSRImmediate = "immediate" // the partition is there when the control code returns
	MSRDelayed   = "delayed"   // it is there at the MSRAfterReads-th later IOCTL_DISK_GET_DRIVE_LAYOUT_EX
	MSRLate      = "late"      // it comes just before the caller sets a layout, which has no room for it
	MSRNever     = "never"     // the caller must make it
)

// The answers to GrowPartition: what IOCTL_DISK_GROW_PARTITION does on a disk that has just grown.
const (
	GrowthImmediate = "immediate" // the partition grows
	GrowthDelayed   = "delayed"   // the first calls after IOCTL_DISK_UPDATE_DRIVE_SIZE are ERROR_INVALID_PARAMETER
	GrowthNever     = "never"     // every call is; MSFT_Partition.Resize works
)

// The answers to LostSessions: how the initiator lists an iSCSI session whose connection is lost. After holdTime it
// has no devices, in each of them.
const (
	LostSessionsDisconnected = "disconnected" // without a connection
	LostSessionsConnected    = "connected"    // as if it had its connection
	LostSessionsUnlisted     = "unlisted"     // only while it has its devices
)

// ProviderLate is what MSFT_Volume.Format returns until the storage provider has learned of a change of the disk.
type ProviderLate string

// The codes, by their numbers in the storage management API.
const (
	ProviderLateNever    ProviderLate = "never" // it learns of changes at once
	ProviderLateOutdated ProviderLate = "40003" // its cache is out of date
	ProviderLateUnknown  ProviderLate = "40006" // its cache does not have the volume
	ProviderLateOffline  ProviderLate = "41003" // the disk is offline
	ProviderLateReadOnly ProviderLate = "43006" // the drive is read-only
)

// The answers to SANPolicy, what becomes of disks that arrive, by diskpart's names.
const (
	SANOfflineShared = "OfflineShared" // as each disk says
	SANOfflineAll    = "OfflineAll"    // they stay offline
)

// Switches are the node's answers to questions that the documentation of Windows leaves open. An agent must work with
// every combination. They are chosen when a node is made; SetSwitch changes one. docs/emulated-node.md has the
// questions.
type Switches struct {
	AttributesVersion          uint32       `yaml:"attributesVersion" form:"16 or 40"`
	CreateDiskClears           bool         `yaml:"createDiskClears"`
	SANPolicy                  string       `yaml:"sanPolicy" form:"OfflineShared, OfflineAll"`
	OfflineDisksReadOnly       bool         `yaml:"offlineDisksReadOnly"`
	ClonesNeedWritable         bool         `yaml:"clonesNeedWritable"`
	DetachNeedsOffline         bool         `yaml:"detachNeedsOffline"`
	ZeroedDiskIsMBR            bool         `yaml:"zeroedDiskIsMBR"`
	MSR                        string       `yaml:"msr" form:"immediate, delayed, late, never"`
	MSRAfterReads              int          `yaml:"msrAfterReads" form:"1 or more"`
	GrowPartitionRefreshes     bool         `yaml:"growPartitionRefreshes"`
	NVMeLUNsNumbered           bool         `yaml:"nvmeLUNsNumbered"`
	IdentifiersApart           bool         `yaml:"identifiersApart"`
	SystemPartitionUnknown     bool         `yaml:"systemPartitionUnknown"`
	GrowPartition              string       `yaml:"growPartition" form:"immediate, delayed, never"`
	VolumeLengthDelayed        bool         `yaml:"volumeLengthDelayed"`
	VolumesArriveLate          bool         `yaml:"volumesArriveLate"`
	AutomountOff               bool         `yaml:"automountOff"`
	ProviderLate               ProviderLate `yaml:"providerLate" form:"never, 40003, 40006, 41003, 43006"`
	OfflineVolumesRefuseAll    bool         `yaml:"offlineVolumesRefuseAll"`
	DisksInstallLate           bool         `yaml:"disksInstallLate"`
	ExtendOneSectorLess        bool         `yaml:"extendOneSectorLess"`
	LacksPrivileges            string       `yaml:"lacksPrivileges" form:"none, or privileges separated by commas"`
	MountPointCallsShareDelete bool         `yaml:"mountPointCallsShareDelete"`
	MountPointCallsDelete      bool         `yaml:"mountPointCallsDelete"`
	MountManagerNotices        bool         `yaml:"mountManagerNotices"`
	MappingsOutliveReboot      bool         `yaml:"mappingsOutliveReboot"`
	MappingStatusDelayed       bool         `yaml:"mappingStatusDelayed"`
	EmptyRootNotFound          bool         `yaml:"emptyRootNotFound"`
	LostSessions               string       `yaml:"lostSessions" form:"disconnected, connected, unlisted"`
	Timing                     string       `yaml:"timing" form:"none, windows"`
}

// DefaultSwitches returns the answers that Windows is believed to give.
func DefaultSwitches() Switches { return DefaultScenario().Switches }

// check refuses answers that do not exist. An answer that is left out, in the state of older nodes, is the first one.
func (s Switches) check() error {
	err := s.checkPrivileges()
	for _, one := range s.list() {
		words := one.words()
		if !one.open() && (one.Value != "" || one.Name == "msr") && !slices.Contains(words, one.Value) {
			err = errors.Join(err, fmt.Errorf("%s is %s, not %s", one.Name, one.Value, strings.Join(words, " or ")))
		}
	}
	if s.MSRAfterReads < 0 || s.MSR == MSRDelayed && s.MSRAfterReads < 1 {
		err = errors.Join(err, fmt.Errorf("msrAfterReads is %d; it must be at least 1", s.MSRAfterReads))
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
		i, err := wordOf(one.Value, words...)
		if err != nil {
			return at(err, one.Name)
		}
		field.SetString(words[i])
	}
	return nil
}

var (
	// ErrNoSuchSwitch means that there is no switch of the name.
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
func (s Switch) open() bool { return s.Name == "msrAfterReads" || s.Name == "lacksPrivileges" }

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
	known := find(Switches{}.list(), func(s *Switch) bool { return strings.EqualFold(s.Name, name) })
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
