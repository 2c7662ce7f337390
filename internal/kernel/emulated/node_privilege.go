// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// The privileges of the agent's process that the node knows. As in the token of LocalSystem or of an administrator,
// they are there and not enabled.
//
// https://learn.microsoft.com/windows/win32/services/localsystem-account
const (
	createSymbolicLink = "SeCreateSymbolicLinkPrivilege"
	loadDriver         = "SeLoadDriverPrivilege"
	manageVolume       = "SeManageVolumePrivilege"
)

// lacksNone is the answer of the switch lacksPrivileges for a process that has them all.
const lacksNone = "none"

func knownPrivileges() []string { return []string{createSymbolicLink, loadDriver, manageVolume} }

// systemPrivileges returns the other privileges that LocalSystem has, by the page above.
func systemPrivileges() []string {
	return []string{
		"SeAssignPrimaryTokenPrivilege", "SeAuditPrivilege", "SeBackupPrivilege", "SeChangeNotifyPrivilege",
		"SeCreateGlobalPrivilege",
		"SeCreatePagefilePrivilege", "SeCreatePermanentPrivilege", "SeDebugPrivilege", "SeImpersonatePrivilege",
		"SeIncreaseBasePriorityPrivilege",
		"SeIncreaseQuotaPrivilege", "SeLockMemoryPrivilege", "SeProfileSingleProcessPrivilege",
		"SeRestorePrivilege", "SeSecurityPrivilege",
		"SeShutdownPrivilege", "SeSystemEnvironmentPrivilege", "SeSystemtimePrivilege", "SeTakeOwnershipPrivilege",
		"SeTcbPrivilege", "SeUndockPrivilege",
	}
}

// lacksPrivilege reports whether the process does not have a privilege.
func (s Switches) lacksPrivilege(privilege string) bool {
	return slices.Contains(strings.Split(s.LacksPrivileges, ","), privilege)
}

func (s Switches) checkPrivileges() error {
	if s.LacksPrivileges == "" || s.LacksPrivileges == lacksNone {
		return nil
	}
	for name := range strings.SplitSeq(s.LacksPrivileges, ",") {
		if !slices.Contains(knownPrivileges(), name) {
			return fmt.Errorf("lacksPrivileges names %q, not %s or one of %s", name, lacksNone,
				strings.Join(knownPrivileges(), ", "))
		}
	}
	return nil
}

// EnablePrivilege implements kernel.Privileges. The process that the node knows is the agent; a reboot ends it.
func (n *Node) EnablePrivilege(name string) error {
	return n.call("AdjustTokenPrivileges", name, func() error {
		switch {
		case slices.ContainsFunc(systemPrivileges(), func(held string) bool { return strings.EqualFold(held, name) }):
			return nil // the node asks for none of these
		case !slices.Contains(knownPrivileges(), name):
			return win32.ERROR_NO_SUCH_PRIVILEGE
		case n.state.Switches.lacksPrivilege(name):
			return win32.ERROR_NOT_ALL_ASSIGNED
		}
		n.privileges[name] = true
		return nil
	})
}

// privileged fails unless a privilege is enabled.
func (n *Node) privileged(name string, otherwise win32.Errno) error {
	if !n.privileges[name] || n.state.Switches.lacksPrivilege(name) {
		return otherwise
	}
	return nil
}
