// SPDX-License-Identifier: Apache-2.0

package iscsi

import (
	"context"
	"fmt"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/machine"
	iscsiapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/iscsi/hostapi"
)

// AuthenticationType is how node and target prove their identity at a login.
type AuthenticationType uint32

// The kinds of authentication.
const (
	NONE         = 0 // not at all
	ONE_WAY_CHAP = 1 // the node proves itself to the target
	MUTUAL_CHAP  = 2 // each proves itself to the other
)

// within returns the machine for a call; a HostAPI of ours takes the call's context.
func (i *ISCSI) within(ctx context.Context, method string, portals ...*TargetPortal) (iscsiapi.HostAPI, error) {
	if slices.Contains(portals, nil) {
		return nil, machine.Invalid("iscsi", method, "INVALID_ARGUMENT", "the target portal is missing")
	}
	if own, ok := i.hostAPI.(iscsiapi.ISCSIAPI); ok {
		return own.WithContext(ctx), nil
	}
	return i.hostAPI, nil
}

// defaultPort is the port of a portal without one.
const defaultPort = 3260

// host returns a portal in a HostAPI's form.
func (p *TargetPortal) host() *iscsiapi.TargetPortal {
	port := p.TargetPort
	if port == 0 {
		port = defaultPort
	}
	return &iscsiapi.TargetPortal{Address: p.TargetAddress, Port: port}
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
	return "", machine.Invalid("iscsi", "ConnectTarget", "INVALID_ARGUMENT",
		fmt.Sprintf("%d is not a kind of authentication", authType))
}

// ConnectTarget logs in to a target. An existing session is success.
func (i *ISCSI) ConnectTarget(ctx context.Context, req *ConnectTargetRequest) (*ConnectTargetResponse, error) {
	auth, err := AuthTypeToString(req.AuthType)
	if err != nil {
		return &ConnectTargetResponse{}, err
	}
	host, err := i.within(ctx, "ConnectTarget", req.TargetPortal)
	if err == nil {
		err = host.ConnectTarget(req.TargetPortal.host(), req.IQN, auth, req.ChapUsername, req.ChapSecret)
	}
	return &ConnectTargetResponse{}, err
}

// ListTargetPortals returns the registered portals.
func (i *ISCSI) ListTargetPortals(ctx context.Context,
	_ *ListTargetPortalsRequest) (*ListTargetPortalsResponse, error) {
	host, err := i.within(ctx, "ListTargetPortals")
	if err != nil {
		return &ListTargetPortalsResponse{}, err
	}
	portals, err := host.ListTargetPortals()
	if err != nil {
		return &ListTargetPortalsResponse{}, err
	}
	r := &ListTargetPortalsResponse{}
	for _, p := range portals {
		r.TargetPortals = append(r.TargetPortals, &TargetPortal{TargetAddress: p.Address, TargetPort: p.Port})
	}
	return r, nil
}
