// SPDX-License-Identifier: Apache-2.0

package win32

// Status of an MSFT_SmbGlobalMapping.
// https://learn.microsoft.com/previous-versions/windows/desktop/smb/msft-smbglobalmapping
const (
	SMB_MAPPING_OK           uint32 = 0
	SMB_MAPPING_DISCONNECTED uint32 = 2
	SMB_MAPPING_UNAVAILABLE  uint32 = 6
)

// SMBMappingStatusName returns the status of a global mapping in words.
func SMBMappingStatusName(status uint32) string {
	names := [...]string{"OK", "paused", "disconnected", "network error", "connecting", "reconnecting", "unavailable"}
	if status < uint32(len(names)) {
		return names[status]
	}
	return "unknown"
}

// SMBCredential returns the Credential parameter of MSFT_SmbGlobalMapping.Create, user:password. In the user name, a
// colon and a backslash are escaped with a backslash; the password is verbatim. The result is a secret, too.
func SMBCredential(userName string, password []byte) []byte {
	credential := make([]byte, 0, 2*len(userName)+1+len(password))
	for _, c := range []byte(userName) {
		if c == ':' || c == '\\' {
			credential = append(credential, '\\')
		}
		credential = append(credential, c)
	}
	return append(append(credential, ':'), password...)
}
