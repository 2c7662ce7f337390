// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// What csi-proxy-prove looks for before it tries anything, too, and reports in the same words.

// The SAN policies of Windows, by the names that diskpart has for them.
// https://learn.microsoft.com/windows-server/administration/windows-commands/san
const (
	OnlineAll       = "OnlineAll"
	OfflineShared   = "OfflineShared" // of Windows Server: disks on buses that others may share
	OfflineAll      = "OfflineAll"
	OfflineInternal = "OfflineInternal"
)

// SANPolicyOf returns the name of a policy in the registry of Windows, "" for one that is not known.
// https://learn.microsoft.com/windows/win32/api/vds/ne-vds-vds_san_policy
func SANPolicyOf(number uint64) string {
	return map[uint64]string{1: OnlineAll, 2: OfflineShared, 3: OfflineAll, 4: OfflineInternal}[number]
}

// A Directory is one that matters to the agent, and who besides administrators may change it.
type Directory struct {
	Path string
	Who  []string
}

// sanPolicy judges what becomes of new disks. OfflineShared is what the agent and drivers are made for.
func sanPolicy(f Facts) []Finding {
	if f.SANPolicy != OfflineAll && f.SANPolicy != OfflineInternal {
		return nil
	}
	return []Finding{{
		Severity: Warning, Check: "san-policy", What: "new disks stay offline until somebody brings them online",
		Evidence: []string{"the SAN policy is " + f.SANPolicy},
		Do: []string{"in diskpart: san policy=OfflineShared",
			"this agent brings a disk online when a driver asks for it; drivers that work in another way do not find it"},
	}}
}

// BitLockerKey and BitLockerValue name a number below HKEY_LOCAL_MACHINE. It is 1 while the policy "Deny write access
// to fixed drives not protected by BitLocker" is enabled.
// https://learn.microsoft.com/windows/client-management/mdm/bitlocker-csp#fixeddrivesrequireencryption
const (
	BitLockerKey   = `SYSTEM\CurrentControlSet\Policies\Microsoft\FVE`
	BitLockerValue = "FDVDenyWriteAccess"
)

// bitLocker judges the policy that makes every new volume read-only.
func bitLocker(f Facts) []Finding {
	if !f.BitLockerRequired {
		return nil
	}
	return []Finding{{
		Severity: Problem, Check: "bitlocker-required",
		What:     "every new volume is read-only: a policy denies writing to fixed drives that BitLocker does not protect",
		Evidence: []string{BitLockerValue + ` is 1 in HKLM\` + BitLockerKey},
		Do: []string{
			`disable the policy "Deny write access to fixed drives not protected by BitLocker" for this node`,
			"then gpupdate /force, and attach the disks again",
		},
	}}
}

// anotherAgent reports endpoints that another process serves. An unexpected server may get the calls of drivers.
func anotherAgent(f Facts) []Finding {
	served := map[string][]string{}
	for _, e := range f.Endpoints {
		if e.Server != "" {
			served[e.Server] = append(served[e.Server], e.Address)
		}
	}
	servers := slices.SortedFunc(maps.Keys(served), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(served[b]), len(served[a])), cmp.Compare(a, b))
	})
	if !f.NoAgent && len(servers) > 0 {
		servers = servers[1:] // the node's
	}
	if len(servers) == 0 {
		return nil
	}
	finding := Finding{
		Severity: Problem, Check: "another-agent",
		What: "another agent serves endpoints here: calls that are meant for one agent reach the other",
		Do:   []string{"end the process, or uninstall the service or the DaemonSet that starts it"},
	}
	for _, server := range servers {
		finding.Evidence = append(finding.Evidence, fmt.Sprintf("%s serves %d endpoints, such as %s", server,
			len(served[server]), served[server][0]))
	}
	return []Finding{finding}
}

// writable judges directories from which, or to which, an administrator's programs work.
func writable(f Facts) []Finding {
	var findings []Finding
	for _, d := range f.Directories {
		if len(d.Who) == 0 {
			continue
		}
		directory := argument{"DIRECTORY", d.Path}
		do := command("chmod go-w %s", directory)
		if strings.Contains(d.Path, `\`) {
			do = command("look at what is in it, and: icacls %s /inheritance:r /grant:r *S-1-5-18:(OI)(CI)F "+
				"*S-1-5-32-544:(OI)(CI)F", directory)
		}
		findings = append(findings, Finding{
			Severity: Warning, Check: "writable-directory", What: "others than administrators may change a directory: they " +
				"can put programs, links or endpoints into " + d.Path,
			Evidence: []string{"may change it: " + strings.Join(d.Who, ", ")}, Do: []string{do},
		})
	}
	return findings
}
