// SPDX-License-Identifier: Apache-2.0

package fileowner

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unsafe"

	"golang.org/x/sys/windows"
)

const remedy = "let only administrators change it"

// self returns the SID of this process's user.
func self() (string, error) {
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	if err != nil {
		return "", err
	}
	return user.User.Sid.String(), nil
}

// replacers returns the Others that may replace what is in a directory. In the root of a drive, Windows lets users make
// new directories and files, but not replace those that are there. Neither may they in the directories of a fresh
// installation, such as C:\ProgramData.
func replacers(dir string) ([]string, error) {
	if dir == filepath.Dir(dir) || strings.EqualFold(dir, os.Getenv("ProgramData")) {
		return nil, nil
	}
	return Others(dir)
}

// writers leaves out a SID, as well.
// https://learn.microsoft.com/windows/win32/api/aclapi/nf-aclapi-getnamedsecurityinfow
func writers(path, besides string) ([]string, error) {
	descriptor, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT,
		windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return nil, fmt.Errorf("GetNamedSecurityInfo %s: %w", path, err)
	}
	owner, _, err := descriptor.Owner()
	if err != nil {
		return nil, fmt.Errorf("GetSecurityDescriptorOwner %s: %w", path, err)
	}
	if owner == nil {
		return nil, fmt.Errorf("GetSecurityDescriptorOwner %s: it has no owner", path)
	}
	acl, _, err := descriptor.DACL()
	if err != nil {
		return nil, fmt.Errorf("GetSecurityDescriptorDacl %s: %w", path, err)
	}
	list, err := aces(acl)
	if err != nil {
		return nil, fmt.Errorf("GetAce %s: %w", path, err)
	}
	names := slices.DeleteFunc(changers(owner.String(), list), func(sid string) bool { return sid == besides })
	for i, text := range names {
		names[i] = accountName(text)
	}
	return names, nil
}

// aces returns a list's entries. An object without a list grants every account full access.
// https://learn.microsoft.com/windows/win32/api/securitybaseapi/nf-securitybaseapi-getace
func aces(acl *windows.ACL) (list []ace, err error) {
	if acl == nil {
		return []ace{{allow: true, mask: changing, sid: world}}, nil
	}
	for i := range uint32(acl.AceCount) {
		var entry *windows.ACCESS_ALLOWED_ACE
		if err := windows.GetAce(acl, i, &entry); err != nil {
			return nil, err
		}
		if entry.Header.AceType != windows.ACCESS_ALLOWED_ACE_TYPE {
			continue
		}
		list = append(list, ace{
			allow:       true,
			inheritOnly: entry.Header.AceFlags&windows.INHERIT_ONLY_ACE != 0,
			mask:        uint32(entry.Mask),
			sid:         (*windows.SID)(unsafe.Pointer(&entry.SidStart)).String(),
		})
	}
	return list, nil
}

// accountName calls LookupAccountSidW. For an unknown account it returns the SID.
func accountName(text string) string {
	sid, err := windows.StringToSid(text)
	if err != nil {
		return text
	}
	account, domain, _, err := sid.LookupAccount("")
	switch {
	case err != nil:
		return text
	case domain == "":
		return account
	}
	return domain + `\` + account
}
