// SPDX-License-Identifier: Apache-2.0

package hostapi

import (
	"context"
	"fmt"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	iscsiv1alpha2 "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/machine"
)

// HostAPI gives access to the iSCSI initiator of a machine.
type HostAPI interface {
	// AddTargetPortal registers a portal.
	AddTargetPortal(portal *TargetPortal) error
	// DiscoverTargetPortal asks a registered portal for its targets, and returns their names.
	DiscoverTargetPortal(portal *TargetPortal) ([]string, error)
	// ListTargetPortals returns the registered portals.
	ListTargetPortals() ([]TargetPortal, error)
	// RemoveTargetPortal forgets a registered portal.
	RemoveTargetPortal(portal *TargetPortal) error
	// ConnectTarget logs in to a target. The kinds of authentication are NONE, ONEWAYCHAP and MUTUALCHAP.
	ConnectTarget(portal *TargetPortal, iqn string, authType string,
		chapUser string, chapSecret string) error
	// DisconnectTarget logs out of a target.
	DisconnectTarget(portal *TargetPortal, iqn string) error
	// GetTargetDisks returns the numbers of a target's disks.
	GetTargetDisks(portal *TargetPortal, iqn string) ([]string, error)
	// SetMutualChapSecret sets the secret by which targets prove themselves to the node.
	SetMutualChapSecret(mutualChapSecret string) error
}

// TargetPortal is where an iSCSI target listens.
type TargetPortal struct {
	Address string `json:"TargetPortalAddress"`
	// Port is a TCP port; 0 is 3260.
	Port uint32 `json:"TargetPortalPortNumber"`
}

// ISCSIAPI is the HostAPI of this project: each call has the checks, locks and errors of the node. The zero value is
// that of New.
type ISCSIAPI struct {
	at machine.Place
}

// New returns the machine that the process runs on, which must be a Windows node; off Windows, all calls fail. With
// CSI_PROXY_HOSTAPI=agent in the environment it returns the node of the agent whose pipes the process sees.
func New() HostAPI { return ISCSIAPI{} }

// Over returns the node of a client: an emulated node, one that inprocess.Open opened with options, or the agent's.
func Over(client *csiproxy.Client) ISCSIAPI { return ISCSIAPI{machine.At(client)} }

// WithContext returns the same machine for calls that end with a context.
func (i ISCSIAPI) WithContext(ctx context.Context) ISCSIAPI { return ISCSIAPI{i.at.Within(ctx)} }

// call makes a call to the API's iscsi group.
func call[Q, R any](i ISCSIAPI, method func(iscsiv1alpha2.IscsiClient, context.Context, *Q, ...grpc.CallOption) (*R,
	error), request *Q) (*R, error) {
	ctx, client, err := i.at.Client()
	if err != nil {
		return nil, err
	}
	return method(client.ISCSI, ctx, request)
}

// wire returns the portal in the API's form; the node refuses a missing portal.
func (p *TargetPortal) wire() *iscsiv1alpha2.TargetPortal {
	if p == nil {
		return nil
	}
	return &iscsiv1alpha2.TargetPortal{TargetAddress: p.Address, TargetPort: p.Port}
}

// authType returns the kind of authentication for a name.
func authType(name string) (iscsiv1alpha2.AuthenticationType, error) {
	switch name {
	case "NONE":
		return iscsiv1alpha2.AuthenticationType_NONE, nil
	case "ONEWAYCHAP":
		return iscsiv1alpha2.AuthenticationType_ONE_WAY_CHAP, nil
	case "MUTUALCHAP":
		return iscsiv1alpha2.AuthenticationType_MUTUAL_CHAP, nil
	}
	return 0, &csiproxy.Error{
		Group: "iscsi", Method: "ConnectTarget", Code: codes.InvalidArgument, Reason: "INVALID_AUTHENTICATION",
		Message: fmt.Sprintf("%q is not a kind of authentication; use NONE, ONEWAYCHAP or MUTUALCHAP", name),
	}
}
