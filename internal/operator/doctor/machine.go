// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/operator/treeview"
)

// The SAN policies of Windows with which new disks stay offline, by the names that diskpart has for them.
const (
	OfflineAll      = "OfflineAll"
	OfflineInternal = "OfflineInternal"
)

// SANPolicyOf returns the name of a policy in the registry of Windows, "" for one that is not known.
// https://learn.microsoft.com/windows/win32/api/vds/ne-vds-vds_san_policy
func SANPolicyOf(number uint64) string {
	return map[uint64]string{1: "OnlineAll", 2: "OfflineShared", 3: OfflineAll, 4: OfflineInternal}[number]
}

// BitLockerKey and BitLockerValue name a number below HKEY_LOCAL_MACHINE. It is 1 while the policy "Deny write access
// to fixed drives not protected by BitLocker" is enabled.
// https://learn.microsoft.com/windows/client-management/mdm/bitlocker-csp#fixeddrivesrequireencryption
const (
	BitLockerKey   = `SYSTEM\CurrentControlSet\Policies\Microsoft\FVE`
	BitLockerValue = "FDVDenyWriteAccess"
)

// settings judges what Windows does with new disks and volumes. Agent and drivers are made for OfflineShared, as
// Windows Server has it: https://learn.microsoft.com/windows-server/administration/windows-commands/san
func (r *report) settings() {
	if r.AutomountOff {
		r.add(Warning, "automount-off", "automount is off: Windows leaves volumes offline that it has not mounted before",
			said("as after mountvol /N; what is mounted stays"), "mountvol /E",
			"this agent brings such a volume online when a driver asks for it; drivers that mount in another way, and other "+
				"agents, do not find it")
	}
	if r.SANPolicy == OfflineAll || r.SANPolicy == OfflineInternal {
		r.add(Warning, "san-policy", "new disks stay offline until they are brought online",
			said("the SAN policy is "+r.SANPolicy), "in diskpart: san policy=OfflineShared",
			"this agent brings a disk online when a driver asks for it; drivers that work in another way do not find it")
	}
	if r.BitLockerRequired {
		r.add(Problem, "bitlocker-required",
			"every new volume is read-only: a policy denies writing to fixed drives that BitLocker does not protect",
			said(BitLockerValue+` is 1 in HKLM\`+BitLockerKey),
			`disable the policy "Deny write access to fixed drives not protected by BitLocker" for this node`,
			"then gpupdate /force, and attach the disks again")
	}
}

// writable judges directories from which, or to which, an administrator's programs work.
func (r *report) writable() {
	for _, d := range r.Directories {
		if len(d.Who) == 0 {
			continue
		}
		do := "chmod go-w %s"
		if strings.Contains(d.Path, `\`) {
			do = "look at what is in it, and: icacls %s /inheritance:r /grant:r '*S-1-5-18:(OI)(CI)F' " +
				"'*S-1-5-32-544:(OI)(CI)F'"
		}
		r.add(Warning, "writable-directory", "others than administrators may change a directory: they can put programs, "+
			"links or endpoints into "+d.Path, said("may change it: "+strings.Join(d.Who, ", ")),
			command(do, argument{"DIRECTORY", d.Path}))
	}
}

// An emulated node has too little room with less than fullBytes and less than one part of fullShare left on its disk.
const (
	fullBytes = 64 << 20
	fullShare = 20
)

// emulated judges what looks like trouble of Windows and is none.
func (r *report) emulated() {
	e := r.Emulated
	if len(e.Faults) > 0 {
		r.add(Note, "active-fault", "faults disturb calls of this emulated node: they were added on purpose",
			said(e.Faults...), "csi-proxyctl node fault remove --all")
	}
	if e.Path != "" && e.FreeBytes >= 0 && e.FreeBytes < fullBytes && e.FreeBytes <= e.SizeBytes/fullShare {
		r.add(Problem, "host-disk-full",
			"the disk of this host that holds the emulated node is full: calls fail as if a disk of the node were",
			said(e.Path+": "+treeview.Size(e.FreeBytes)+" free of "+treeview.Size(e.SizeBytes)),
			"make room there, or start the node with another -state-dir")
	}
}
