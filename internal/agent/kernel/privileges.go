// SPDX-License-Identifier: Apache-2.0

package kernel

// Privileges are rights that Windows does not tie to an object. An account holds them, and the token of each of its
// processes has them; most have no effect until the process enables them.
type Privileges interface {
	// EnablePrivilege enables a privilege, such as SeCreateSymbolicLinkPrivilege, for the rest of this process's life
	// (OpenProcessToken, LookupPrivilegeValueW, AdjustTokenPrivileges). ERROR_NOT_ALL_ASSIGNED: the process does not have
	// it.
	EnablePrivilege(name string) error
}
