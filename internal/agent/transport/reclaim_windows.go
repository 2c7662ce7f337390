// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A client that keeps its end open keeps a pipe's name in existence without a server. No client can connect then, and
// no process make the name: any that may open a pipe could keep the agent from ever starting again.

// abandoned reports whether a name exists without a server: the pipe file system then tells clients that it does not.
func abandoned(path string) bool {
	h, err := openAnonymously(path)
	if err == nil {
		_ = windows.CloseHandle(h)
	}
	return errors.Is(err, windows.ERROR_FILE_NOT_FOUND)
}

// reclaim makes an instance of a name that exists, with this security, unless its owner is not to be trusted.
// https://learn.microsoft.com/windows/win32/ipc/named-pipe-security-and-access-rights
func reclaim(name *windows.NTUnicodeString, security *windows.SECURITY_DESCRIPTOR) (*instance, error) {
	i, err := newInstance(name, security, findName, windows.WRITE_DAC)
	if err != nil {
		return nil, err
	}
	if err := setDACL(i.handle, security); err != nil {
		i.close()
		return nil, err
	}
	return i, nil
}

func setDACL(h windows.Handle, security *windows.SECURITY_DESCRIPTOR) error {
	owner, err := ownerOf(h)
	if err != nil {
		return err
	}
	trusted, err := trustedOwners()
	if err != nil {
		return err
	}
	if !trusted[owner] {
		return fmt.Errorf("a client keeps the name open, and its owner %s is not trusted; end that client: %w", owner,
			windows.ERROR_ACCESS_DENIED)
	}
	dacl, _, err := security.DACL()
	if err != nil {
		return os.NewSyscallError("GetSecurityDescriptorDacl", err)
	}
	err = windows.SetSecurityInfo(h, windows.SE_KERNEL_OBJECT,
		windows.DACL_SECURITY_INFORMATION|windows.PROTECTED_DACL_SECURITY_INFORMATION, nil, nil, dacl, nil)
	return os.NewSyscallError("SetSecurityInfo", err)
}

// trustedOwners returns SYSTEM, administrators, and the owner of objects that this process makes.
func trustedOwners() (map[string]bool, error) {
	own, err := defaultOwner()
	if err != nil {
		return nil, err
	}
	return map[string]bool{"S-1-5-18": true, "S-1-5-32-544": true, own: true}, nil
}

// defaultOwner returns the owner of objects that this process makes, as a SID in text.
// https://learn.microsoft.com/windows/win32/api/winnt/ns-winnt-token_owner
func defaultOwner() (string, error) {
	const maxSIDBytes = 68 // SECURITY_MAX_SID_SIZE
	var buffer struct {
		owner *windows.SID // TOKEN_OWNER; what it points to follows
		sid   [maxSIDBytes]byte
	}
	size := uint32(unsafe.Sizeof(buffer))
	err := windows.GetTokenInformation(windows.GetCurrentProcessToken(), windows.TokenOwner,
		(*byte)(unsafe.Pointer(&buffer)), size, &size)
	if err != nil {
		return "", os.NewSyscallError("GetTokenInformation", err)
	}
	return buffer.owner.String(), nil
}

// ownerOf returns the owner of a pipe, as a SID in text.
// https://learn.microsoft.com/windows/win32/api/aclapi/nf-aclapi-getsecurityinfo
func ownerOf(h windows.Handle) (string, error) {
	descriptor, err := windows.GetSecurityInfo(h, windows.SE_KERNEL_OBJECT, windows.OWNER_SECURITY_INFORMATION)
	if err != nil {
		return "", os.NewSyscallError("GetSecurityInfo", err)
	}
	owner, _, err := descriptor.Owner()
	if err != nil {
		return "", os.NewSyscallError("GetSecurityDescriptorOwner", err)
	}
	return owner.String(), nil
}
