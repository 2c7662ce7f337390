// SPDX-License-Identifier: Apache-2.0

package fileowner

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/windows"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
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

// replacers returns the Others that may replace what is in a directory. In a drive's root, and in directories of a
// fresh installation such as C:\ProgramData, users may make new files, but not replace those that are there.
func replacers(dir string) ([]string, error) {
	if dir == filepath.Dir(dir) || strings.EqualFold(dir, os.Getenv("ProgramData")) {
		return nil, nil
	}
	return Others(dir)
}

// security returns the owner of a file or directory, by SID, and its access list.
// https://learn.microsoft.com/windows/win32/api/aclapi/nf-aclapi-getnamedsecurityinfow
func security(path string) (owner string, list win32.AccessList, err error) {
	descriptor, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT,
		windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	if err != nil {
		return "", list, fmt.Errorf("GetNamedSecurityInfo %s: %w", path, err)
	}
	return parsed(path, descriptor)
}

// Cure returns the commands that leave a directory, which Check refuses, to administrators: a line each, for cmd.exe
// and PowerShell, behind a line end. Users keep the right to read and run what is there, if they are to have it.
func Cure(path string, usersRead bool) string {
	_, list, err := security(path)
	if err != nil {
		list = win32.AccessList{} // the commands are right for most lists
	}
	return cure(path, usersRead, list)
}

// writers leaves out a SID, as well.
func writers(path, besides string) ([]string, error) {
	owner, list, err := security(path)
	if err != nil {
		return nil, err
	}
	entries := list.Allowed()
	if list.Everyone {
		entries = []win32.AccessEntry{{SID: world, Mask: changing}}
	}
	names := slices.DeleteFunc(changers(owner, entries), func(sid string) bool { return sid == besides })
	for i, text := range names {
		names[i] = accountName(text)
	}
	return names, nil
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
