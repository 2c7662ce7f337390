// SPDX-License-Identifier: Apache-2.0

package iscsi

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/codes"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi/hostapi"
)

// ISCSI gives access to the iSCSI initiator of a machine.
type ISCSI struct {
	hostAPI iscsiapi.HostAPI
}

// Interface has the methods of ISCSI.
type Interface interface {
	// AddTargetPortal registers a portal. A portal that is already registered is success.
	AddTargetPortal(context.Context, *AddTargetPortalRequest) (*AddTargetPortalResponse, error)
	// ConnectTarget logs in to a target. An existing session is success.
	ConnectTarget(context.Context, *ConnectTargetRequest) (*ConnectTargetResponse, error)
	// DisconnectTarget logs out of a target. Without a session it is success.
	DisconnectTarget(context.Context, *DisconnectTargetRequest) (*DisconnectTargetResponse, error)
	// DiscoverTargetPortal asks a registered portal for its targets.
	DiscoverTargetPortal(context.Context, *DiscoverTargetPortalRequest) (*DiscoverTargetPortalResponse, error)
	// GetTargetDisks returns the numbers of a target's disks, none without a session.
	GetTargetDisks(context.Context, *GetTargetDisksRequest) (*GetTargetDisksResponse, error)
	// ListTargetPortals returns the registered portals.
	ListTargetPortals(context.Context, *ListTargetPortalsRequest) (*ListTargetPortalsResponse, error)
	// RemoveTargetPortal forgets a registered portal. A portal that is not registered is success.
	RemoveTargetPortal(context.Context, *RemoveTargetPortalRequest) (*RemoveTargetPortalResponse, error)
	// SetMutualChapSecret sets the secret by which targets prove themselves to the node.
	SetMutualChapSecret(context.Context, *SetMutualChapSecretRequest) (*SetMutualChapSecretResponse, error)
}

var _ Interface = (*ISCSI)(nil)

// New returns the iSCSI initiator of a machine.
func New(hostAPI iscsiapi.HostAPI) (*ISCSI, error) {
	if hostAPI == nil {
		return nil, errors.New("iscsi.New needs a HostAPI")
	}
	return &ISCSI{hostAPI: hostAPI}, nil
}

// within returns the machine for a call; a HostAPI of ours takes the call's context.
func (ic *ISCSI) within(ctx context.Context) iscsiapi.HostAPI {
	if own, ok := ic.hostAPI.(iscsiapi.ISCSIAPI); ok {
		return own.WithContext(ctx)
	}
	return ic.hostAPI
}

// defaultPort is the port of a portal without one.
const defaultPort = 3260

// portal returns a portal in a HostAPI's form.
func portal(method string, p *TargetPortal) (*iscsiapi.TargetPortal, error) {
	if p == nil {
		return nil, invalid(method, "the target portal is missing")
	}
	port := p.TargetPort
	if port == 0 {
		port = defaultPort
	}
	return &iscsiapi.TargetPortal{Address: p.TargetAddress, Port: port}, nil
}

func invalid(method, message string) error {
	return &csiproxy.Error{Group: "iscsi", Method: method, Code: codes.InvalidArgument,
		Reason: "INVALID_ARGUMENT", Message: message}
}

// AuthTypeToString returns a HostAPI's name for a kind of authentication.
func AuthTypeToString(authType AuthenticationType) (string, error) {
	switch authType {
	case NONE:
		return "NONE", nil
	case ONE_WAY_CHAP:
		return "ONEWAYCHAP", nil
	case MUTUAL_CHAP:
		return "MUTUALCHAP", nil
	}
	return "", invalid("ConnectTarget", fmt.Sprintf("%d is not a kind of authentication", authType))
}

// AddTargetPortal registers a portal. A portal that is already registered is success.
func (ic *ISCSI) AddTargetPortal(ctx context.Context,
	request *AddTargetPortalRequest) (*AddTargetPortalResponse, error) {
	p, err := portal("AddTargetPortal", request.TargetPortal)
	if err == nil {
		err = ic.within(ctx).AddTargetPortal(p)
	}
	return &AddTargetPortalResponse{}, err
}

// ConnectTarget logs in to a target. An existing session is success.
func (ic *ISCSI) ConnectTarget(ctx context.Context, req *ConnectTargetRequest) (*ConnectTargetResponse, error) {
	auth, err := AuthTypeToString(req.AuthType)
	if err != nil {
		return &ConnectTargetResponse{}, err
	}
	p, err := portal("ConnectTarget", req.TargetPortal)
	if err == nil {
		err = ic.within(ctx).ConnectTarget(p, req.IQN, auth, req.ChapUsername, req.ChapSecret)
	}
	return &ConnectTargetResponse{}, err
}

// DisconnectTarget logs out of a target. Without a session it is success.
func (ic *ISCSI) DisconnectTarget(ctx context.Context,
	request *DisconnectTargetRequest) (*DisconnectTargetResponse, error) {
	p, err := portal("DisconnectTarget", request.TargetPortal)
	if err == nil {
		err = ic.within(ctx).DisconnectTarget(p, request.IQN)
	}
	return &DisconnectTargetResponse{}, err
}

// DiscoverTargetPortal asks a registered portal for its targets.
func (ic *ISCSI) DiscoverTargetPortal(ctx context.Context,
	request *DiscoverTargetPortalRequest) (*DiscoverTargetPortalResponse, error) {
	p, err := portal("DiscoverTargetPortal", request.TargetPortal)
	if err != nil {
		return &DiscoverTargetPortalResponse{}, err
	}
	iqns, err := ic.within(ctx).DiscoverTargetPortal(p)
	return &DiscoverTargetPortalResponse{IQNs: iqns}, err
}

// GetTargetDisks returns the numbers of a target's disks in decimal, none without a session.
func (ic *ISCSI) GetTargetDisks(ctx context.Context, request *GetTargetDisksRequest) (*GetTargetDisksResponse, error) {
	p, err := portal("GetTargetDisks", request.TargetPortal)
	if err != nil {
		return &GetTargetDisksResponse{}, err
	}
	disks, err := ic.within(ctx).GetTargetDisks(p, request.IQN)
	return &GetTargetDisksResponse{DiskIDs: disks}, err
}

// ListTargetPortals returns the registered portals.
func (ic *ISCSI) ListTargetPortals(ctx context.Context,
	_ *ListTargetPortalsRequest) (*ListTargetPortalsResponse, error) {
	portals, err := ic.within(ctx).ListTargetPortals()
	if err != nil {
		return &ListTargetPortalsResponse{}, err
	}
	r := &ListTargetPortalsResponse{}
	for _, p := range portals {
		r.TargetPortals = append(r.TargetPortals, &TargetPortal{TargetAddress: p.Address, TargetPort: p.Port})
	}
	return r, nil
}

// RemoveTargetPortal forgets a registered portal. A portal that is not registered is success.
func (ic *ISCSI) RemoveTargetPortal(ctx context.Context,
	request *RemoveTargetPortalRequest) (*RemoveTargetPortalResponse, error) {
	p, err := portal("RemoveTargetPortal", request.TargetPortal)
	if err == nil {
		err = ic.within(ctx).RemoveTargetPortal(p)
	}
	return &RemoveTargetPortalResponse{}, err
}

// SetMutualChapSecret sets the secret, of 12 to 16 bytes, by which targets prove themselves to the node.
func (ic *ISCSI) SetMutualChapSecret(ctx context.Context,
	request *SetMutualChapSecretRequest) (*SetMutualChapSecretResponse, error) {
	return &SetMutualChapSecretResponse{}, ic.within(ctx).SetMutualChapSecret(request.MutualChapSecret)
}
