// SPDX-License-Identifier: Apache-2.0

package iscsi

// AuthenticationType is how node and target prove their identity at a login.
type AuthenticationType uint32

// The kinds of authentication.
const (
	NONE         = 0 // not at all
	ONE_WAY_CHAP = 1 // the node proves itself to the target
	MUTUAL_CHAP  = 2 // each proves itself to the other
)

// TargetPortal is where an iSCSI target listens.
type TargetPortal struct {
	TargetAddress string
	// TargetPort is a TCP port; 0 is 3260.
	TargetPort uint32
}

// Requests and responses are named after their calls. An IQN is the name of a target.
type (
	// AddTargetPortalRequest names the portal.
	AddTargetPortalRequest struct {
		TargetPortal *TargetPortal
	}

	// AddTargetPortalResponse has no fields.
	AddTargetPortalResponse struct{}

	// ConnectTargetRequest names the target and how to log in.
	ConnectTargetRequest struct {
		TargetPortal *TargetPortal
		IQN          string
		AuthType     AuthenticationType
		// ChapUsername and ChapSecret are empty without CHAP.
		ChapUsername string
		ChapSecret   string
	}

	// ConnectTargetResponse has no fields.
	ConnectTargetResponse struct{}

	// DisconnectTargetRequest names the target.
	DisconnectTargetRequest struct {
		TargetPortal *TargetPortal
		IQN          string
	}

	// DisconnectTargetResponse has no fields.
	DisconnectTargetResponse struct{}

	// DiscoverTargetPortalRequest names the portal.
	DiscoverTargetPortalRequest struct {
		TargetPortal *TargetPortal
	}

	// DiscoverTargetPortalResponse has the names of the targets.
	DiscoverTargetPortalResponse struct {
		IQNs []string
	}

	// GetTargetDisksRequest names the target.
	GetTargetDisksRequest struct {
		TargetPortal *TargetPortal
		IQN          string
	}

	// GetTargetDisksResponse has the disks' numbers in decimal.
	GetTargetDisksResponse struct {
		DiskIDs []string
	}

	// ListTargetPortalsRequest has no fields.
	ListTargetPortalsRequest struct{}

	// ListTargetPortalsResponse has the portals.
	ListTargetPortalsResponse struct {
		TargetPortals []*TargetPortal
	}

	// RemoveTargetPortalRequest names the portal.
	RemoveTargetPortalRequest struct {
		TargetPortal *TargetPortal
	}

	// RemoveTargetPortalResponse has no fields.
	RemoveTargetPortalResponse struct{}

	// SetMutualChapSecretRequest has the secret, of 12 to 16 bytes.
	SetMutualChapSecretRequest struct {
		MutualChapSecret string
	}

	// SetMutualChapSecretResponse has no fields.
	SetMutualChapSecretResponse struct{}
)
