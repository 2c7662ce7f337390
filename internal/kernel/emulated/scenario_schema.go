// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"fmt"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// scenarioKeys are the keys of a scenario file.
func scenarioKeys() mapping[Scenario] {
	return mapping[Scenario]{title: "The file", keys: []key[Scenario]{
		textKey("smbiosSerial", "System serial number in the SMBIOS; empty: none.", func(s *Scenario) *string { return &s.SystemSerial }),
		partKey("switches", "What the Windows documentation leaves open.", switchKeys(), func(s *Scenario) *Switches { return &s.Switches }, nil),
		partKey("systemDisk", "Disk 0, with drive C. What is left out is as in the default scenario.", systemDiskKeys(),
			func(s *Scenario) *DiskSpec { return &s.SystemDisk }, Scenario.checkDisks),
		listKey("disks", "Disks 1, 2 and so on.", diskKeys(), func(s *Scenario) *[]DiskSpec { return &s.Disks }, Scenario.checkDisks),
		textsKey("directories", "list of paths", "More directories on drive C, parents included, besides those of the default scenario.",
			func(s *Scenario) *[]string { return &s.Directories }, func(path string) error {
				_, err := directoryOnC(path)
				return err
			}),
		listKey("services", "Services of the node.", serviceKeys(), func(s *Scenario) *[]ServiceSpec { return &s.Services },
			func(s Scenario) error { return serviceStates(s.Services).check() }),
		listKey("smbUsers", "Accounts, which all file servers know.", smbUserKeys(), func(s *Scenario) *[]SMBUserSpec { return &s.SMBUsers }, Scenario.checkSMB),
		listKey("smbServers", "File servers that the node can reach.", smbServerKeys(), func(s *Scenario) *[]SMBServerSpec { return &s.SMBServers }, Scenario.checkSMB),
		listKey("iscsiPortals", "Addresses at which a storage system answers.", portalKeys(), func(s *Scenario) *[]ISCSIPortalSpec { return &s.ISCSI }, checkPortals),
	}}
}

func switchKeys() mapping[Switches] {
	arrivals := []MSRArrival{MSRImmediate, MSRDelayed, MSRNever}
	return mapping[Switches]{title: "switches", check: Switches.check, keys: []key[Switches]{
		eitherKey("attributesVersion", "Version that `IOCTL_DISK_SET_DISK_ATTRIBUTES` wants.", 16, 40,
			func(s *Switches, n uint64) { s.AttributesVersion = uint32(n) }),
		boolKey("createDiskClears", "Creating tables brings an offline disk online and makes it writable.",
			func(s *Switches, b bool) { s.CreateDiskClears = b }),
		boolKey("offlineDisksReadOnly", "Disks that arrive offline are read-only as well.",
			func(s *Switches, b bool) { s.OfflineDisksReadOnly = b }),
		boolKey("zeroedDiskIsMBR", "A zeroed disk reads as an MBR without entries.",
			func(s *Switches, b bool) { s.ZeroedDiskIsMBR = b }),
		choiceKey("msr", "When the Microsoft reserved partition comes after a GPT is made.", words(arrivals),
			func(s *Switches, i int) { s.MSR = arrivals[i] }),
		numberKey("msrAfterReads", "With `delayed`: at which later reading of the layout.", 1, 1000,
			func(s *Switches, n uint64) { s.MSRAfterReads = int(n) }), // at most 1000
		boolKey("growPartitionRefreshes", "`IOCTL_DISK_GROW_PARTITION` moves the backup header of a grown disk.",
			func(s *Switches, b bool) { s.GrowPartitionRefreshes = b }),
		boolKey("extendOneSectorLess", "`FSCTL_EXTEND_VOLUME` wants one sector less than the partition has.",
			func(s *Switches, b bool) { s.ExtendOneSectorLess = b }),
	}}
}

func words[T ~string](from []T) (all []string) {
	for _, word := range from {
		all = append(all, string(word))
	}
	return all
}

func serviceKeys() mapping[ServiceSpec] {
	starts := []string{"boot", "system", "automatic", "manual", "disabled"} // SERVICE_BOOT_START and so on, from 0
	return mapping[ServiceSpec]{title: "services[]", start: ServiceSpec{StartType: win32.SERVICE_AUTO_START}, keys: []key[ServiceSpec]{
		required(textKey("name", "Name, the same in any case.", func(s *ServiceSpec) *string { return &s.Name })),
		textKey("displayName", "Display name; left out: the name.", func(s *ServiceSpec) *string { return &s.DisplayName }),
		choiceKey("start", "Start type; left out: automatic.", starts, func(s *ServiceSpec, i int) { s.StartType = uint32(i) }), // an index
		textsKey("dependencies", "list of names", "Services that it needs; with a leading + load order groups, of which there are none.",
			func(s *ServiceSpec) *[]string { return &s.Dependencies }, nil),
		boolKey("running", "It runs from the start.", func(s *ServiceSpec, b bool) { s.Running = b }),
		boolKey("unstoppable", "It does not accept to be stopped.", func(s *ServiceSpec, b bool) { s.Unstoppable = b }),
		numberKey("pendingQueries", "How many queries find it on its way, each time it starts or stops.", 0, 1000,
			func(s *ServiceSpec, n uint64) { s.PendingQueries = int(n) }), // at most 1000
		numberKey("startExitCode", "Unless 0, the Win32 code that it stops with again when started.", 0, 1<<32-1,
			func(s *ServiceSpec, n uint64) { s.StartExitCode = uint32(n) }),
		numberKey("startServiceExitCode", "With `startExitCode: 1066`, the service's own code.", 0, 1<<32-1,
			func(s *ServiceSpec, n uint64) { s.StartServiceExitCode = uint32(n) }),
	}}
}

func smbUserKeys() mapping[SMBUserSpec] {
	return mapping[SMBUserSpec]{title: "smbUsers[]", keys: []key[SMBUserSpec]{
		required(textKey("name", "Name of the account, without a domain.", func(u *SMBUserSpec) *string { return &u.Name })),
		textsKey("domains", "list of names", `The account may be named DOMAIN\name as well.`, func(u *SMBUserSpec) *[]string { return &u.Domains }, nil),
		required(textKey("password", "Password. The node keeps a digest of it only.", func(u *SMBUserSpec) *string { return &u.Password })),
	}}
}

func smbServerKeys() mapping[SMBServerSpec] {
	shares := mapping[SMBShareSpec]{title: "smbServers[].shares[]", keys: []key[SMBShareSpec]{
		required(textKey("name", "Name of the share.", func(s *SMBShareSpec) *string { return &s.Name })),
		textsKey("users", "list of names", "Accounts that may use it; left out: all.", func(s *SMBShareSpec) *[]string { return &s.Users }, nil),
	}}
	return mapping[SMBServerSpec]{title: "smbServers[]", keys: []key[SMBServerSpec]{
		required(textKey("name", "Name or address of the server.", func(s *SMBServerSpec) *string { return &s.Name })),
		listKey("shares", "Its shares.", shares, func(s *SMBServerSpec) *[]SMBShareSpec { return &s.Shares }, nil),
		boolKey("encryption", "It knows SMB encryption; left out: true.", func(s *SMBServerSpec, b bool) { s.NoEncryption = !b }),
	}}
}

func required[T any](k key[T]) key[T] {
	k.required = true
	return k
}

// checkSMB refuses what a node could not be made of, and shares of accounts that are not there.
func (s Scenario) checkSMB() error {
	if _, err := newSMBState(s.SMBServers, s.SMBUsers); err != nil {
		return err
	}
	known := func(name string) bool {
		return slices.ContainsFunc(s.SMBUsers, func(u SMBUserSpec) bool { return smbKey(u.Name) == smbKey(name) })
	}
	for _, server := range s.SMBServers {
		for _, share := range server.Shares {
			for _, name := range share.Users {
				if !known(name) {
					return fmt.Errorf(`share \\%s\%s is for the account %q, which is not there`, server.Name, share.Name, name)
				}
			}
		}
	}
	return nil
}
