// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MSRArrival is when the Microsoft reserved partition appears after IOCTL_DISK_CREATE_DISK with a GPT.
type MSRArrival string

// The arrivals.
const (
	MSRImmediate MSRArrival = "immediate" // the partition is there when the control code returns
	MSRDelayed   MSRArrival = "delayed"   // it is there at the MSRAfterReads-th later IOCTL_DISK_GET_DRIVE_LAYOUT_EX
	MSRLate      MSRArrival = "late"      // it comes just before the caller sets a layout, which has no room for it
	MSRNever     MSRArrival = "never"     // the caller must make it
)

// Growth is what IOCTL_DISK_GROW_PARTITION does on a disk that has just grown.
type Growth string

// The ways to grow.
const (
	GrowthImmediate Growth = "immediate" // the partition grows
	GrowthDelayed   Growth = "delayed"   // the first calls after IOCTL_DISK_UPDATE_DRIVE_SIZE are ERROR_INVALID_PARAMETER
	GrowthNever     Growth = "never"     // every call is; MSFT_Partition.Resize works
)

// LinksRefused is what OBJ_DONT_REPARSE does when a file is opened.
type LinksRefused string

// The ways to refuse links.
const (
	LinksRefusedOnTheWay   LinksRefused = "onTheWay"   // a link is an error unless it is itself what is opened
	LinksRefusedEverywhere LinksRefused = "everywhere" // a link is an error even then
	LinksRefusedNever      LinksRefused = "never"      // the attribute is ignored
)

// LostSessions is how the initiator lists an iSCSI session whose connection is lost.
type LostSessions string

// The ways to list such a session. After holdTime it has no devices, in each of them.
const (
	LostSessionsDisconnected LostSessions = "disconnected" // without a connection
	LostSessionsConnected    LostSessions = "connected"    // as if it had its connection
	LostSessionsUnlisted     LostSessions = "unlisted"     // only while it has its devices
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

// SANPolicy is what becomes of disks that arrive.
type SANPolicy string

// The policies, by diskpart's names.
const (
	SANOfflineShared SANPolicy = "OfflineShared" // as each disk says
	SANOfflineAll    SANPolicy = "OfflineAll"    // they stay offline
)

// Switches are the node's answers to questions that the documentation of Windows leaves open. An agent must work with
// every combination. They are chosen when a node is made; SetSwitch changes one. switchTexts has the answers, and
// docs/emulated-node.md the questions.
type Switches struct {
	AttributesVersion          uint32       `yaml:"attributesVersion" json:"attributesVersion"`
	CreateDiskClears           bool         `yaml:"createDiskClears" json:"createDiskClears"`
	SANPolicy                  SANPolicy    `yaml:"sanPolicy" json:"sanPolicy,omitempty"`
	OfflineDisksReadOnly       bool         `yaml:"offlineDisksReadOnly" json:"offlineDisksReadOnly"`
	ZeroedDiskIsMBR            bool         `yaml:"zeroedDiskIsMBR" json:"zeroedDiskIsMBR"`
	MSR                        MSRArrival   `yaml:"msr" json:"msr"`
	MSRAfterReads              int          `yaml:"msrAfterReads" json:"msrAfterReads"`
	GrowPartitionRefreshes     bool         `yaml:"growPartitionRefreshes" json:"growPartitionRefreshes"`
	NVMeLUNsNumbered           bool         `yaml:"nvmeLUNsNumbered" json:"nvmeLUNsNumbered"`
	IdentifiersApart           bool         `yaml:"identifiersApart" json:"identifiersApart,omitempty"`
	SystemPartitionUnknown     bool         `yaml:"systemPartitionUnknown" json:"systemPartitionUnknown"`
	GrowPartition              Growth       `yaml:"growPartition" json:"growPartition"`
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
	LinksRefused               LinksRefused `yaml:"linksRefused" json:"linksRefused"`
	LostSessions               LostSessions `yaml:"lostSessions" json:"lostSessions,omitempty"`
	Timing                     Timing       `yaml:"timing" json:"timing,omitempty"`
	MultiAttach                bool         `yaml:"multiAttach" json:"multiAttach,omitempty"`
}

// DefaultSwitches returns the answers that Windows is believed to give.
func DefaultSwitches() Switches {
	return Switches{
		AttributesVersion: 40, MSR: MSRImmediate, MSRAfterReads: 3, SANPolicy: SANOfflineShared,
		GrowPartition: GrowthImmediate, LacksPrivileges: lacksNone,
		MappingsOutliveReboot: true, LinksRefused: LinksRefusedOnTheWay, LostSessions: LostSessionsDisconnected,
		ProviderLate: ProviderLateNever, Timing: TimingNone,
	}
}

// check refuses answers that do not exist. An answer that is left out, in the state of older nodes, is the first one.
func (s Switches) check() error {
	err := errors.Join(
		oneOf("attributesVersion", s.AttributesVersion, 16, 40),
		oneOf("msr", s.MSR, MSRImmediate, MSRDelayed, MSRLate, MSRNever),
		oneOf("sanPolicy", cmp.Or(s.SANPolicy, SANOfflineShared), SANOfflineShared, SANOfflineAll),
		oneOf("growPartition", cmp.Or(s.GrowPartition, GrowthImmediate), GrowthImmediate, GrowthDelayed, GrowthNever),
		oneOf("providerLate", cmp.Or(s.ProviderLate, ProviderLateNever), ProviderLateNever, ProviderLateOutdated,
			ProviderLateUnknown, ProviderLateOffline, ProviderLateReadOnly),
		oneOf("linksRefused", cmp.Or(s.LinksRefused, LinksRefusedOnTheWay), LinksRefusedOnTheWay, LinksRefusedEverywhere,
			LinksRefusedNever),
		oneOf("lostSessions", cmp.Or(s.LostSessions, LostSessionsDisconnected), LostSessionsDisconnected,
			LostSessionsConnected, LostSessionsUnlisted),
		oneOf("timing", cmp.Or(s.Timing, TimingNone), TimingNone, TimingWindows),
		s.checkPrivileges(),
	)
	if s.MSRAfterReads < 0 || s.MSR == MSRDelayed && s.MSRAfterReads < 1 {
		err = errors.Join(err, fmt.Errorf("msrAfterReads is %d; it must be at least 1", s.MSRAfterReads))
	}
	return err
}

// oneOf refuses an answer that is none of those that exist.
func oneOf[T comparable](name string, answer T, answers ...T) error {
	if slices.Contains(answers, answer) {
		return nil
	}
	var words []string
	for _, a := range answers {
		words = append(words, fmt.Sprint(a))
	}
	return fmt.Errorf("%s is %v, not %s", name, answer, strings.Join(words, " or "))
}
