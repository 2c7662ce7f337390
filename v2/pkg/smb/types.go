// SPDX-License-Identifier: Apache-2.0

package smb

// Requests and responses are named after their calls. A RemotePath is \\server\share or \\server\share\dir.
type (
	// NewSMBGlobalMappingRequest names the share, the link to make and the credentials.
	NewSMBGlobalMappingRequest struct {
		RemotePath string
		// LocalPath is where the link is made; empty: none.
		LocalPath string
		Username  string
		Password  string
	}

	// NewSMBGlobalMappingResponse has no fields.
	NewSMBGlobalMappingResponse struct{}

	// RemoveSMBGlobalMappingRequest names the share.
	RemoveSMBGlobalMappingRequest struct {
		RemotePath string
	}

	// RemoveSMBGlobalMappingResponse has no fields.
	RemoveSMBGlobalMappingResponse struct{}
)
