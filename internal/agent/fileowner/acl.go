// SPDX-License-Identifier: Apache-2.0

package fileowner

import (
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// changing is the rights to change a file's content, a directory's files or their access lists.
// https://learn.microsoft.com/windows/win32/fileio/file-access-rights-constants
const changing = 0x2 | // FILE_WRITE_DATA, FILE_ADD_FILE
	0x4 | // FILE_APPEND_DATA, FILE_ADD_SUBDIRECTORY
	0x40 | // FILE_DELETE_CHILD
	// FILE_WRITE_ATTRIBUTES, with which FSCTL_SET_REPARSE_POINT makes a directory lead elsewhere (MS-FSA 2.1.5.10.37)
	0x100 |
	0x10000 | // DELETE
	0x40000 | // WRITE_DAC
	0x80000 | // WRITE_OWNER
	0x10000000 | // GENERIC_ALL
	0x40000000 // GENERIC_WRITE

// SIDs that stand for another account.
const (
	world        = "S-1-1-0"
	creatorOwner = "S-1-3-0" // the owner of objects that are made below; no account on the object itself
	ownerRights  = "S-1-3-4" // the object's owner, with rights that replace an owner's usual ones
)

// trusted reports whether a SID stands for an account that is as powerful as the agent.
// https://learn.microsoft.com/windows-server/identity/ad-ds/manage/understand-security-identifiers
func trusted(sid string) bool {
	switch sid {
	case "S-1-5-18", // SYSTEM
		"S-1-5-32-544", // Administrators
		"S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464": // TrustedInstaller
		return true
	}
	// The accounts of a machine or domain: Administrator and Domain Admins.
	return strings.HasPrefix(sid, "S-1-5-21-") && (strings.HasSuffix(sid, "-500") || strings.HasSuffix(sid, "-512"))
}

// changers returns the SIDs of those besides administrators who may change an object, by ownership or by its access
// list. An owner may change the list and is returned unless trusted, even if OWNER RIGHTS entries take this right away:
// the owner may have opened the object before. CREATOR OWNER matters only in objects that are made below. Entries that
// deny are ignored: whether they help depends on group membership.
// https://learn.microsoft.com/windows/win32/secauthz/owner-of-a-new-object
func changers(owner string, list []win32.AccessEntry) (sids []string) {
	if !trusted(owner) {
		sids = append(sids, owner)
	}
	for _, a := range list {
		sid := string(a.SID)
		if sid == ownerRights || sid == creatorOwner {
			continue
		}
		if a.Flags&win32.INHERIT_ONLY_ACE == 0 && a.Mask&changing != 0 && !trusted(sid) && !slices.Contains(sids, sid) {
			sids = append(sids, sid)
		}
	}
	return sids
}
