// SPDX-License-Identifier: Apache-2.0

package kernel

// SMB is the SMB client's table of global mappings: shares that every user and container of the node can reach with
// the credentials of the mapping (class MSFT_SmbGlobalMapping, namespace ROOT\Microsoft\Windows\Smb). Files on a
// mapped share are opened through Files as \\?\UNC\server\share\….
type SMB interface {
	// SMBGlobalMappings lists the global mappings, in no particular order.
	SMBGlobalMappings() ([]SMBGlobalMapping, error)

	// CreateSMBGlobalMapping maps the share \\server\share (MSFT_SmbGlobalMapping.Create). It connects to the server
	// and logs on there; with requirePrivacy all traffic is encrypted or nothing is mapped. An implementation keeps the
	// password no longer than the mapping needs it. ERROR_ALREADY_ASSIGNED or ERROR_GEN_FAILURE: the share is already
	// mapped; ERROR_SESSION_CREDENTIAL_CONFLICT: the node has a session with the server as another user;
	// ERROR_BAD_NETPATH: the server does not answer; ERROR_BAD_NET_NAME: it has no such share; ERROR_INVALID_PASSWORD,
	// ERROR_LOGON_FAILURE and others: it refuses the credentials.
	CreateSMBGlobalMapping(remotePath, userName string, password Secret, requirePrivacy bool) error

	// RemoveSMBGlobalMapping unmaps the share, even if files on it are open (MSFT_SmbGlobalMapping.Remove, Force=true).
	// The case of the remote path does not matter. ERROR_NOT_CONNECTED: there is no such mapping.
	RemoveSMBGlobalMapping(remotePath string) error
}

// SMBGlobalMapping is one global mapping, as in MSFT_SmbGlobalMapping.
// https://learn.microsoft.com/previous-versions/windows/desktop/smb/msft-smbglobalmapping
type SMBGlobalMapping struct {
	RemotePath string // \\server\share
	Status     uint32 // SMB_MAPPING_OK and others, in package win32
}
