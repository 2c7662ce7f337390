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
	list, err := win32.ParseAccessList(unsafe.Slice((*byte)(unsafe.Pointer(descriptor)), descriptor.Length()))
	if err != nil {
		return nil, fmt.Errorf("the access list of %s: %w", path, err)
	}
	entries := list.Allowed()
	if list.Everyone {
		entries = []win32.AccessEntry{{SID: world, Mask: changing}}
	}
	names := slices.DeleteFunc(changers(owner.String(), entries), func(sid string) bool { return sid == besides })
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
