// SPDX-License-Identifier: Apache-2.0

//go:build windows

package windows

import (
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/kernel/windows/wmi"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// The SMB client's namespace and class in WMI. The query selects * because SELECT RemotePath, Status … leaves out the
// instance's path, without which Remove cannot be called.
const (
	smbNamespace = `ROOT\Microsoft\Windows\Smb`
	smbClass     = "MSFT_SmbGlobalMapping"
	smbQuery     = "SELECT * FROM MSFT_SmbGlobalMapping"
)

// SMBGlobalMappings reads the instances of MSFT_SmbGlobalMapping.
//
// https://learn.microsoft.com/previous-versions/windows/desktop/smb/msft-smbglobalmapping
func (k Kernel) SMBGlobalMappings() ([]kernel.SMBGlobalMapping, error) {
	var mappings []kernel.SMBGlobalMapping
	err := k.mappings.Each(smbNamespace, smbQuery, func(i wmi.Instance) (done bool, err error) {
		path, err := i.String("RemotePath")
		if err != nil {
			return false, err
		}
		status, err := i.Uint32("Status")
		mappings = append(mappings, kernel.SMBGlobalMapping{RemotePath: path, Status: status})
		return false, err
	})
	return mappings, failure(smbClass, "", err)
}

// CreateSMBGlobalMapping calls MSFT_SmbGlobalMapping.Create. WMI takes the credential as a string; copies of it stay in
// memory until that memory is reused.
//
// https://learn.microsoft.com/previous-versions/windows/desktop/smb/create-msft-smbglobalmapping
func (k Kernel) CreateSMBGlobalMapping(remotePath, userName string, password kernel.Secret, requirePrivacy bool) error {
	credential := kernel.Secret(win32.SMBCredential(userName, password))
	defer credential.Wipe()
	returned, err := k.maps.CallClass(smbNamespace, smbClass, "Create", wmi.Parameters{
		"RemotePath": remotePath, "Credential": string(credential), "RequirePrivacy": requirePrivacy,
	})
	return failure(smbClass+".Create", remotePath, smbResult(returned, err))
}

// RemoveSMBGlobalMapping calls MSFT_SmbGlobalMapping.Remove.
//
// https://learn.microsoft.com/previous-versions/windows/desktop/smb/remove-msft-smbglobalmapping
func (k Kernel) RemoveSMBGlobalMapping(remotePath string) error {
	found := false
	err := k.unmaps.Each(smbNamespace, smbQuery, func(i wmi.Instance) (done bool, err error) {
		path, err := i.String("RemotePath")
		if err != nil || !strings.EqualFold(strings.TrimSuffix(path, `\`), remotePath) {
			return false, err
		}
		found = true
		return false, smbResult(i.Call("Remove", wmi.Parameters{"Force": true}))
	})
	if err == nil && !found {
		err = win32.ERROR_NOT_CONNECTED
	}
	return failure(smbClass+".Remove", remotePath, err)
}

// smbResult returns the error of a method of the SMB client, whose return values are Win32 codes, some as HRESULTs.
func smbResult(returned uint32, err error) error {
	if err != nil || returned == 0 {
		return err
	}
	return wmi.Code(returned)
}
