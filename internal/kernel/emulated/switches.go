// SPDX-License-Identifier: Apache-2.0

package emulated

import "fmt"

// MSRArrival is when the Microsoft reserved partition appears after IOCTL_DISK_CREATE_DISK with a GPT.
type MSRArrival string

// The arrivals.
const (
	MSRImmediate MSRArrival = "immediate" // the partition is there when the control code returns
	MSRDelayed   MSRArrival = "delayed"   // it is there at the MSRAfterReads-th later IOCTL_DISK_GET_DRIVE_LAYOUT_EX
	MSRLate      MSRArrival = "late"      // it comes just before the caller sets a layout, which has no room for it
	MSRNever     MSRArrival = "never"     // the caller must make it
)

// Growth is what IOCTL_DISK_GROW_PARTITION does on a disk that has just grown. The zero value, in the state of older
// nodes, is GrowthImmediate.
type Growth string

// The ways to grow.
const (
	GrowthImmediate Growth = "immediate" // the partition grows
	GrowthDelayed   Growth = "delayed"   // the first calls after IOCTL_DISK_UPDATE_DRIVE_SIZE are ERROR_INVALID_PARAMETER
	GrowthNever     Growth = "never"     // every call is; MSFT_Partition.Resize works
)

// LinksRefused is what OBJ_DONT_REPARSE does when a file is opened. The zero value, in the state of older nodes, is
// LinksRefusedOnTheWay.
type LinksRefused string

// The ways to refuse links.
const (
	LinksRefusedOnTheWay   LinksRefused = "onTheWay"   // a link is an error unless it is itself what is opened
	LinksRefusedEverywhere LinksRefused = "everywhere" // a link is an error even then
	LinksRefusedNever      LinksRefused = "never"      // the attribute is ignored
)

// LostSessions is how the initiator lists an iSCSI session whose connection is lost. The zero value, in the state of
// older nodes, is LostSessionsDisconnected.
type LostSessions string

// The ways to list such a session. After holdTime it has no devices, in each of them.
const (
	LostSessionsDisconnected LostSessions = "disconnected" // without a connection
	LostSessionsConnected    LostSessions = "connected"    // as if it had its connection
	LostSessionsUnlisted     LostSessions = "unlisted"     // only while it has its devices
)

// ProviderLate is what MSFT_Volume.Format returns until the storage provider has learned of a change of the disk. The
// zero value, in the state of older nodes, is ProviderLateNever.
type ProviderLate string

// The codes, by their numbers in the storage management API.
const (
	ProviderLateNever    ProviderLate = "never" // it learns of changes at once
	ProviderLateOutdated ProviderLate = "40003" // its cache is out of date
	ProviderLateUnknown  ProviderLate = "40006" // its cache does not have the volume
	ProviderLateOffline  ProviderLate = "41003" // the disk is offline
	ProviderLateReadOnly ProviderLate = "43006" // the drive is read-only
)

// SANPolicy is what becomes of disks that arrive. The zero value, in the state of older nodes, is SANOfflineShared.
type SANPolicy string

// The policies, by diskpart's names.
const (
	SANOfflineShared SANPolicy = "OfflineShared" // as each disk says
	SANOfflineAll    SANPolicy = "OfflineAll"    // they stay offline
)

// Switches are the node's answers to questions that the documentation of Windows leaves open. An agent must work with
// every combination. They are chosen when a node is made; SetSwitch changes one.
type Switches struct {
	// AttributesVersion is the Version that IOCTL_DISK_SET_DISK_ATTRIBUTES requires: 40, the size of
	// SET_DISK_ATTRIBUTES, or 16, as documented. The other one is ERROR_INVALID_PARAMETER.
	AttributesVersion uint32 `yaml:"attributesVersion" json:"attributesVersion"`

	// CreateDiskClears: does IOCTL_DISK_CREATE_DISK on an offline or read-only disk bring it online and make it
	// writable, or fail with ERROR_WRITE_PROTECT?
	CreateDiskClears bool `yaml:"createDiskClears" json:"createDiskClears"`

	// SANPolicy: does Windows leave all new disks offline, or those on buses that others may share?
	SANPolicy SANPolicy `yaml:"sanPolicy" json:"sanPolicy,omitempty"`

	// OfflineDisksReadOnly: are disks that arrive offline, by the SAN policy of Windows Server for shared buses,
	// read-only as well?
	OfflineDisksReadOnly bool `yaml:"offlineDisksReadOnly" json:"offlineDisksReadOnly"`

	// ZeroedDiskIsMBR: does a zeroed disk read back as MBR with signature 0 and empty entries, or as RAW?
	ZeroedDiskIsMBR bool `yaml:"zeroedDiskIsMBR" json:"zeroedDiskIsMBR"`

	// MSR: does creating a GPT make a Microsoft reserved partition, and when?
	MSR           MSRArrival `yaml:"msr" json:"msr"`
	MSRAfterReads int        `yaml:"msrAfterReads" json:"msrAfterReads"`

	// GrowPartitionRefreshes: is it IOCTL_DISK_GROW_PARTITION that moves the backup header of a grown disk, or
	// IOCTL_DISK_UPDATE_DRIVE_SIZE followed by IOCTL_DISK_UPDATE_PROPERTIES, after which UsableLength shows it?
	GrowPartitionRefreshes bool `yaml:"growPartitionRefreshes" json:"growPartitionRefreshes"`

	// NVMeLUNsNumbered: does IOCTL_SCSI_GET_ADDRESS give an NVMe namespace a LUN that is made of its identifier, or
	// LUN 0, like all others?
	NVMeLUNsNumbered bool `yaml:"nvmeLUNsNumbered" json:"nvmeLUNsNumbered"`

	// IdentifiersApart: do disks not know StorageDeviceUniqueIdProperty, which answers with all of their identifiers at
	// once?
	IdentifiersApart bool `yaml:"identifiersApart" json:"identifiersApart,omitempty"`

	// SystemPartitionUnknown: is HKLM\SYSTEM\Setup\SystemPartition missing, which names the partition that Windows
	// boots from?
	SystemPartitionUnknown bool `yaml:"systemPartitionUnknown" json:"systemPartitionUnknown"`

	// GrowPartition: does IOCTL_DISK_GROW_PARTITION work right after IOCTL_DISK_UPDATE_DRIVE_SIZE, a little later, or not
	// at all?
	GrowPartition Growth `yaml:"growPartition" json:"growPartition"`

	// VolumeLengthDelayed: does a volume learn a little after its partition that it has grown?
	VolumeLengthDelayed bool `yaml:"volumeLengthDelayed" json:"volumeLengthDelayed"`

	// VolumesArriveLate: does the volume of a new partition, or of a disk that comes online, arrive a little later?
	VolumesArriveLate bool `yaml:"volumesArriveLate" json:"volumesArriveLate,omitempty"`

	// AutomountOff: does Windows leave volumes offline that it has not mounted before (mountvol /N)?
	AutomountOff bool `yaml:"automountOff" json:"automountOff"`

	// ProviderLate: what does MSFT_Volume.Format return right after control codes made a partition, or brought a disk
	// online? It does until UpdateHostStorageCache is called providerLag later.
	ProviderLate ProviderLate `yaml:"providerLate" json:"providerLate,omitempty"`
	// OfflineVolumesRefuseAll: does a volume that is offline refuse every control code but IOCTL_VOLUME_ONLINE, or what
	// reads and writes it?
	OfflineVolumesRefuseAll bool `yaml:"offlineVolumesRefuseAll" json:"offlineVolumesRefuseAll,omitempty"`

	// DisksInstallLate: is a new disk listed only after it was looked for, and its installation was waited for?
	DisksInstallLate bool `yaml:"disksInstallLate" json:"disksInstallLate"`

	// ExtendOneSectorLess: does FSCTL_EXTEND_VOLUME take all sectors of the partition, or one less, because the last
	// holds the backup boot sector?
	ExtendOneSectorLess bool `yaml:"extendOneSectorLess" json:"extendOneSectorLess"`

	// LacksPrivileges: which privileges does the agent's account not have? None, or names separated by commas.
	LacksPrivileges string `yaml:"lacksPrivileges" json:"lacksPrivileges,omitempty"`

	// MountPointCallsShareDelete: do SetVolumeMountPointW and DeleteVolumeMountPointW open the directory so that others
	// may have it open with DELETE, or is that a sharing violation?
	MountPointCallsShareDelete bool `yaml:"mountPointCallsShareDelete" json:"mountPointCallsShareDelete"`

	// MountPointCallsDelete: do they open it with DELETE, so that a handle that does not share deletion is in their way?
	MountPointCallsDelete bool `yaml:"mountPointCallsDelete" json:"mountPointCallsDelete,omitempty"`

	// MountManagerNotices: does the mount manager notice that a mount point was removed otherwise than by
	// DeleteVolumeMountPointW, or that a directory above it was moved, or does it go on listing its path?
	MountManagerNotices bool `yaml:"mountManagerNotices" json:"mountManagerNotices"`
	// MappingsOutliveReboot: are SMB global mappings still there after a restart of Windows, disconnected and without
	// their credentials, or gone?
	MappingsOutliveReboot bool `yaml:"mappingsOutliveReboot" json:"mappingsOutliveReboot"`

	// MappingStatusDelayed: is an SMB mapping still listed as disconnected for a moment after an open has reconnected it?
	MappingStatusDelayed bool `yaml:"mappingStatusDelayed" json:"mappingStatusDelayed,omitempty"`

	// LinksRefused: which links does OBJ_DONT_REPARSE refuse? Wine ignores the attribute.
	LinksRefused LinksRefused `yaml:"linksRefused" json:"linksRefused"`

	// LostSessions: how does GetIScsiSessionListW list a session whose connection is lost, while the initiator tries to
	// reconnect?
	LostSessions LostSessions `yaml:"lostSessions" json:"lostSessions,omitempty"`

	// Timing: how long do calls take?
	Timing Timing `yaml:"timing" json:"timing,omitempty"`

	// MultiAttach: does the cloud let other nodes, on which it is set as well, have a bundle attached at the same time?
	MultiAttach bool `yaml:"multiAttach" json:"multiAttach,omitempty"`
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

func (s Switches) check() error {
	switch {
	case s.AttributesVersion != 16 && s.AttributesVersion != 40:
		return fmt.Errorf("attributesVersion is %d, not 16 or 40", s.AttributesVersion)
	case s.MSR != MSRImmediate && s.MSR != MSRDelayed && s.MSR != MSRLate && s.MSR != MSRNever:
		return fmt.Errorf("msr is %q, not %q, %q, %q or %q", s.MSR, MSRImmediate, MSRDelayed, MSRLate, MSRNever)
	case s.SANPolicy != "" && s.SANPolicy != SANOfflineShared && s.SANPolicy != SANOfflineAll:
		return fmt.Errorf("sanPolicy is %q, not %q or %q", s.SANPolicy, SANOfflineShared, SANOfflineAll)
	case s.GrowPartition != "" && s.GrowPartition != GrowthImmediate && s.GrowPartition != GrowthDelayed &&
		s.GrowPartition != GrowthNever:
		return fmt.Errorf("growPartition is %q, not %q, %q or %q", s.GrowPartition, GrowthImmediate,
			GrowthDelayed, GrowthNever)
	case !s.ProviderLate.valid():
		return fmt.Errorf("providerLate is %q, not %q, %q, %q, %q or %q", s.ProviderLate,
			ProviderLateNever, ProviderLateOutdated, ProviderLateUnknown, ProviderLateOffline, ProviderLateReadOnly)
	case s.LinksRefused != "" && s.LinksRefused != LinksRefusedOnTheWay && s.LinksRefused != LinksRefusedEverywhere &&
		s.LinksRefused != LinksRefusedNever:
		return fmt.Errorf("linksRefused is %q, not %q, %q or %q", s.LinksRefused, LinksRefusedOnTheWay,
			LinksRefusedEverywhere, LinksRefusedNever)
	case s.LostSessions != "" && s.LostSessions != LostSessionsDisconnected && s.LostSessions != LostSessionsConnected &&
		s.LostSessions != LostSessionsUnlisted:
		return fmt.Errorf("lostSessions is %q, not %q, %q or %q", s.LostSessions, LostSessionsDisconnected,
			LostSessionsConnected, LostSessionsUnlisted)
	case s.Timing != "" && s.Timing != TimingNone && s.Timing != TimingWindows:
		return fmt.Errorf("timing is %q, not %q or %q", s.Timing, TimingNone, TimingWindows)
	case s.MSRAfterReads < 0 || s.MSR == MSRDelayed && s.MSRAfterReads < 1:
		return fmt.Errorf("msrAfterReads is %d; it must be at least 1", s.MSRAfterReads)
	}
	return s.checkPrivileges()
}
