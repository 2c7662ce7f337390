// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/strictyaml"
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

// The answers to LinksRefused: what OBJ_DONT_REPARSE does when a file is opened.
const (
	LinksRefusedOnTheWay   = "onTheWay"   // a link is an error unless it is itself what is opened
	LinksRefusedEverywhere = "everywhere" // a link is an error even then
	LinksRefusedNever      = "never"      // the attribute is ignored
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
// every combination. They are chosen when a node is made; SetSwitch changes one. switchTexts has the answers, and
// docs/emulated-node.md the questions.
type Switches struct {
	AttributesVersion          uint32       `yaml:"attributesVersion" json:"attributesVersion"`
	CreateDiskClears           bool         `yaml:"createDiskClears" json:"createDiskClears"`
	SANPolicy                  string       `yaml:"sanPolicy" json:"sanPolicy,omitempty"`
	OfflineDisksReadOnly       bool         `yaml:"offlineDisksReadOnly" json:"offlineDisksReadOnly"`
	ZeroedDiskIsMBR            bool         `yaml:"zeroedDiskIsMBR" json:"zeroedDiskIsMBR"`
	MSR                        string       `yaml:"msr" json:"msr"`
	MSRAfterReads              int          `yaml:"msrAfterReads" json:"msrAfterReads"`
	GrowPartitionRefreshes     bool         `yaml:"growPartitionRefreshes" json:"growPartitionRefreshes"`
	NVMeLUNsNumbered           bool         `yaml:"nvmeLUNsNumbered" json:"nvmeLUNsNumbered"`
	IdentifiersApart           bool         `yaml:"identifiersApart" json:"identifiersApart,omitempty"`
	SystemPartitionUnknown     bool         `yaml:"systemPartitionUnknown" json:"systemPartitionUnknown"`
	GrowPartition              string       `yaml:"growPartition" json:"growPartition"`
	VolumeLengthDelayed        bool         `yaml:"volumeLengthDelayed" json:"volumeLengthDelayed"`
	VolumesArriveLate          bool         `yaml:"volumesArriveLate" json:"volumesArriveLate,omitempty"`
	AutomountOff               bool         `yaml:"automountOff" json:"automountOff"`
	ProviderLate               ProviderLate `yaml:"providerLate" json:"providerLate,omitempty"`
	OfflineVolumesRefuseAll    bool         `yaml:"offlineVolumesRefuseAll" json:"offlineVolumesRefuseAll,omitempty"`
	DisksInstallLate           bool         `yaml:"disksInstallLate" json:"disksInstallLate"`
	ExtendOneSectorLess        bool         `yaml:"extendOneSectorLess" json:"extendOneSectorLess"`
	LacksPrivileges            string       `yaml:"lacksPrivileges" json:"lacksPrivileges,omitempty"`
	MountPointCallsShareDelete bool         `yaml:"mountPointCallsShareDelete" json:"mountPointCallsShareDelete"`
	MountPointCallsDelete      bool         `yaml:"mountPointCallsDelete" json:"mountPointCallsDelete,omitempty"`
	MountManagerNotices        bool         `yaml:"mountManagerNotices" json:"mountManagerNotices"`
	MappingsOutliveReboot      bool         `yaml:"mappingsOutliveReboot" json:"mappingsOutliveReboot"`
	MappingStatusDelayed       bool         `yaml:"mappingStatusDelayed" json:"mappingStatusDelayed,omitempty"`
	LinksRefused               string       `yaml:"linksRefused" json:"linksRefused"`
	LostSessions               string       `yaml:"lostSessions" json:"lostSessions,omitempty"`
	Timing                     string       `yaml:"timing" json:"timing,omitempty"`
}

// DefaultSwitches returns the answers that Windows is believed to give.
func DefaultSwitches() Switches { return DefaultScenario().Switches }

// check refuses answers that do not exist. An answer that is left out, in the state of older nodes, is the first one.
func (s Switches) check() error {
	err := s.checkPrivileges()
	for _, one := range switchTexts() {
		answer := s.text(one.Name)
		if !one.open() && (answer != "" || one.Name == "msr") && !slices.Contains(one.words(), answer) {
			err = errors.Join(err, fmt.Errorf("%s is %s, not %s", one.Name, answer, strings.Join(one.words(), " or ")))
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
	for _, one := range switchTexts() {
		field := s.field(one.Name)
		if field.Kind() != reflect.String || field.String() == "" || one.open() {
			continue
		}
		words := one.words()
		i, err := wordOf(field.String(), words...)
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
	About string
}

// words returns the answers of a switch that is not open.
func (s Switch) words() []string {
	return strings.Split(strings.ReplaceAll(s.Form, " or ", ", "), ", ")
}

// open reports whether a switch has more answers than a list names.
func (s Switch) open() bool { return s.Name == "msrAfterReads" || s.Name == "lacksPrivileges" }

// switchTexts returns the descriptions of the switches, in the order of the scenario's keys.
func switchTexts() []Switch {
	const boolean = "true or false"
	return []Switch{
		{"attributesVersion", "", "16 or 40", "Version that `IOCTL_DISK_SET_DISK_ATTRIBUTES` wants."},
		{"createDiskClears", "", boolean, "Creating tables brings an offline disk online and makes it writable."},
		{"sanPolicy", "", "OfflineShared, OfflineAll", "Which new disks stay offline: those that say so, or all."},
		{"offlineDisksReadOnly", "", boolean, "Disks that arrive offline are read-only as well."},
		{"zeroedDiskIsMBR", "", boolean, "A zeroed disk reads as an MBR without entries."},
		{"msr", "", "immediate, delayed, late, never", "When the Microsoft reserved partition comes after a GPT is made."},
		{"msrAfterReads", "", "1 or more", "With `delayed`: at which later reading of the layout."},
		{"growPartitionRefreshes", "", boolean, "`IOCTL_DISK_GROW_PARTITION` moves the backup header of a grown disk."},
		{"nvmeLUNsNumbered", "", boolean, "NVMe namespaces have LUNs that are made of their identifiers, not LUN 0."},
		{"identifiersApart", "", boolean, "Disks do not answer with all of their identifiers at once."},
		{"systemPartitionUnknown", "", boolean, "The registry does not name the partition that Windows boots from."},
		{"growPartition", "", "immediate, delayed, never",
			"When `IOCTL_DISK_GROW_PARTITION` works on a disk that has just grown."},
		{"volumeLengthDelayed", "", boolean, "A volume learns a little after its partition that it has grown."},
		{"volumesArriveLate", "", boolean,
			"The volumes of new partitions, and of disks that come online, arrive a little later."},
		{"automountOff", "", boolean, "Volumes that were not mounted before stay offline (`mountvol /N`)."},
		{"providerLate", "", "never, 40003, 40006, 41003, 43006",
			"What `MSFT_Volume.Format` returns for some seconds after a partition was made, or a disk brought online."},
		{"offlineVolumesRefuseAll", "", boolean,
			"A volume that is offline refuses every control code but `IOCTL_VOLUME_ONLINE`."},
		{"disksInstallLate", "", boolean, "A new disk is listed only after a rescan and the wait for its installation."},
		{"extendOneSectorLess", "", boolean, "`FSCTL_EXTEND_VOLUME` wants one sector less than the partition has."},
		{"lacksPrivileges", "", "none, or privileges separated by commas",
			"Privileges that the agent's account does not have."},
		{"mountPointCallsShareDelete", "", boolean,
			"`SetVolumeMountPointW` and `DeleteVolumeMountPointW` bear others that have the directory open with `DELETE`."},
		{"mountPointCallsDelete", "", boolean,
			"They open it with `DELETE`, so that a handle that does not share deletion is in their way."},
		{"mountManagerNotices", "", boolean,
			"The mount manager forgets a mount point that was removed without `DeleteVolumeMountPointW`, and follows one that " +
				"was moved."},
		{"mappingsOutliveReboot", "", boolean,
			"SMB mappings stay after a reboot, disconnected and without their credentials."},
		{"mappingStatusDelayed", "", boolean,
			"An SMB mapping that an open has reconnected is listed as disconnected for a moment."},
		{"linksRefused", "", "onTheWay, everywhere, never", "Which links `OBJ_DONT_REPARSE` refuses when a file is opened."},
		{"lostSessions", "", "disconnected, connected, unlisted", "How an iSCSI session is listed whose connection is lost."},
		{"timing", "", "none, windows", "How long calls take: as long as the host does, or about as long as on Windows."},
	}
}

// Switches returns the switches, in the order of the scenario's keys.
func (n *Node) Switches() []Switch {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := switchTexts()
	for i := range list {
		list[i].Value = n.state.Switches.text(list[i].Name)
	}
	return list
}

// text returns the answer of one switch, by its name in scenario files.
func (s Switches) text(name string) string { return fmt.Sprint(s.field(name).Interface()) }

func (s *Switches) field(name string) reflect.Value {
	of := reflect.TypeFor[Switches]()
	return reflect.ValueOf(s).Elem().Field(slices.Index(strictyaml.Fields(of), name))
}

// SetSwitch changes the answer to one question for later calls. Effects of earlier calls stay. Errors: ErrNoSuchSwitch,
// ErrInvalidSwitch.
func (n *Node) SetSwitch(name, answer string) error {
	known := find(switchTexts(), func(s *Switch) bool { return strings.EqualFold(s.Name, name) })
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
