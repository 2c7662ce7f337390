// SPDX-License-Identifier: Apache-2.0

package node

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	admin "github.com/kubernetes-csi/csi-proxy/api/admin/v1alpha1"
	api "github.com/kubernetes-csi/csi-proxy/client/api/iscsi/v1alpha2"
	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// iscsiLogin is how to log in to a target. Without authentication, the user name and the secret are ignored.
type iscsiLogin struct {
	Authentication api.AuthenticationType // its numbers are Windows'
	Username       string                 // empty: the node's initiator name
	Secret         Secret                 // 12 to 16 bytes
}

const (
	// Windows' limits without IPsec, in bytes.
	minCHAPSecret = 12
	maxCHAPSecret = 16

	maxCHAPName = 255 // bytes, the limit of a text value in RFC 3720
)

// ConnectTarget logs in to a target, as the proto says. Disks that are not new to the node come as Windows remembers
// the disk at their address.
func (s *ISCSI) ConnectTarget(ctx context.Context, r *api.ConnectTargetRequest) (*api.ConnectTargetResponse, error) {
	login := iscsiLogin{r.GetAuthType(), r.GetChapUsername(), Secret(r.GetChapSecret())}
	p, name, err := parseTarget(r)
	if err == nil {
		err = login.check()
	}
	if err != nil {
		return nil, err
	}
	what := operation.On("ConnectTarget", operation.Target(string(name)))
	what.Arguments = fmt.Sprintf("%s, authentication %d", p, login.Authentication)
	what.Credentials = s.node.operations.CredentialKey(login.Username, login.Secret)
	return &api.ConnectTargetResponse{},
		s.node.do(ctx, what, func(o *op) error { return o.connect(p, name, login) })
}

// parseTarget reads the target of a request and the portal at which it answers.
func parseTarget(r interface {
	GetTargetPortal() *api.TargetPortal
	GetIqn() string
}) (portal, targetName, error) {
	p, err := parsePortal(r.GetTargetPortal())
	if err != nil {
		return p, "", err
	}
	name, err := parseTargetName(r.GetIqn())
	return p, name, err
}

func (l iscsiLogin) check() error {
	switch {
	case l.Authentication == api.AuthenticationType_NONE:
		return nil
	case l.Authentication != api.AuthenticationType_ONE_WAY_CHAP && l.Authentication != api.AuthenticationType_MUTUAL_CHAP:
		return errdefs.InvalidArgument.Errorf(reason.InvalidCHAP,
			"there is no authentication type %d; 0 is none, 1 is CHAP, 2 is mutual CHAP", l.Authentication)
	case len(l.Username) > maxCHAPName || !utf8.ValidString(l.Username) ||
		strings.ContainsFunc(l.Username, unicode.IsControl):
		return errdefs.InvalidArgument.Errorf(reason.InvalidCHAP,
			"the CHAP user name has a control character, is not valid UTF-8 or is longer than %d bytes", maxCHAPName)
	}
	return checkCHAPSecret(l.Secret)
}

func checkCHAPSecret(secret Secret) error {
	if len(secret) < minCHAPSecret || len(secret) > maxCHAPSecret {
		return errdefs.InvalidArgument.Errorf(reason.InvalidCHAP, "a CHAP secret has %d to %d bytes%s",
			minCHAPSecret, maxCHAPSecret, lineEndHint(secret))
	}
	return nil
}

// options returns the login options in Windows' terms.
func (l iscsiLogin) options(p portal, name targetName) kernel.ISCSILogin {
	login := kernel.ISCSILogin{
		Target: string(name), Portal: p.win32().Bytes(),
		InformationSpecified: win32.ISCSI_LOGIN_OPTIONS_AUTH_TYPE, AuthType: uint32(l.Authentication),
	}
	if l.Authentication == api.AuthenticationType_NONE {
		return login
	}
	login.InformationSpecified |= win32.ISCSI_LOGIN_OPTIONS_PASSWORD
	login.Password = l.Secret
	if l.Username != "" {
		login.InformationSpecified |= win32.ISCSI_LOGIN_OPTIONS_USERNAME
		login.Username = l.Username
	}
	return login
}

func (o *op) connect(p portal, name targetName, login iscsiLogin) error {
	o.node.expectDisks(name) // also of a login whose answer was lost, or that an agent made before it died
	if connected, err := o.isConnected(name); connected || err != nil {
		if err == nil && login.Authentication != api.AuthenticationType_NONE {
			errdefs.NotDone(o.run.Context, string(name)+" is connected already; these credentials were not tried")
		}
		return err
	}
	err := o.callISCSI(func() error { _, err := o.kernel.LoginISCSITarget(login.options(p, name)); return err },
		"logging in to the target %s at %s", name, p)
	if errdefs.HasCode(err, win32.ISDSC_TARGET_ALREADY_LOGGED_IN, win32.ISDSC_SESSION_ALREADY_EXISTS) {
		connected, listErr := o.isConnected(name)
		if listErr != nil {
			return listErr
		}
		if !connected {
			return errdefs.Unavailable.WrapErrorf(err, reason.Reconnecting,
				"the session with the target %s has lost its connection, and Windows is trying to reconnect", name)
		}
		return nil
	}
	switch {
	case errdefs.HasCode(err, win32.ISDSC_TARGET_NOT_FOUND, win32.ISDSC_NOT_FOUND):
		return errdefs.NotFound.WrapErrorf(err, reason.TargetNotFound,
			"no discovery has found the target %s at %s; look for it with DiscoverTargetPortal", name, p)
	case err != nil:
		return err
	}
	o.node.expectDisks(name)
	return nil
}

// SetMutualCHAPSecret sets the secret by which targets prove themselves to this node. All targets share it.
func (s *ISCSI) SetMutualCHAPSecret(ctx context.Context,
	r *api.SetMutualChapSecretRequest) (*api.SetMutualChapSecretResponse, error) {
	secret := Secret(r.GetMutualChapSecret())
	if err := checkCHAPSecret(secret); err != nil {
		return nil, err
	}
	what := operation.On("SetMutualChapSecret", operation.ISCSIInitiator)
	what.Credentials = s.node.operations.CredentialKey("", secret)
	return &api.SetMutualChapSecretResponse{}, s.node.do(ctx, what, func(o *op) error {
		return o.callISCSI(func() error { return o.kernel.SetISCSIInitiatorCHAPSharedSecret(secret) },
			"setting the secret for mutual CHAP")
	})
}

// allSessions returns the sessions with all targets.
func (o *op) allSessions() ([]win32.ISCSISession, error) {
	var at uint64 // the address that the pointers in the buffer are relative to
	fill := func() ([]byte, int, error) {
		found, err := o.kernel.ISCSISessionList()
		at = found.Base
		return found.Buffer, found.Count, err
	}
	parse := func(b []byte, count int) ([]win32.ISCSISession, error) {
		return win32.ParseISCSISessionList(b, at, count)
	}
	return listISCSI(o, fill, parse, "listing the iSCSI sessions")
}

// sessions returns the sessions with a target.
func (o *op) sessions(name targetName) ([]win32.ISCSISession, error) {
	all, err := o.allSessions()
	return slices.DeleteFunc(all, func(s win32.ISCSISession) bool {
		return !strings.EqualFold(s.TargetNodeName, string(name)) && !strings.EqualFold(s.TargetName, string(name))
	}), err
}

// isConnected reports whether a session with the target has a connection.
func (o *op) isConnected(name targetName) (bool, error) {
	sessions, err := o.sessions(name)
	return slices.ContainsFunc(sessions, func(s win32.ISCSISession) bool { return s.Connected }), err
}

// Sessions lists the iSCSI sessions, by target; nil while the iSCSI initiator service is not running.
func (s *ISCSI) Sessions(ctx context.Context) ([]*admin.ISCSISession, error) {
	return read(ctx, s.node, operation.On("ListISCSISessions", operation.ISCSIInitiator),
		func(o *op) ([]*admin.ISCSISession, error) {
			all, err := o.allSessions()
			if errdefs.HasReason(err, reason.ServiceNotRunning) {
				return nil, nil
			}
			if err != nil {
				return nil, err
			}
			sessions := make([]*admin.ISCSISession, 0, len(all))
			for _, session := range all {
				sessions = append(sessions,
					&admin.ISCSISession{Target: session.TargetName, Connected: session.Connected})
			}
			slices.SortFunc(sessions, func(a, b *admin.ISCSISession) int {
				return strings.Compare(a.GetTarget(), b.GetTarget())
			})
			return sessions, nil
		})
}

// arrivalTime is how long callers wait for the disks of a login.
const arrivalTime = 10 * time.Second

// expectDisks notes that the disks of a target may arrive from now on.
func (n *Node) expectDisks(name targetName) {
	until := time.Now().Add(arrivalTime)
	n.arrivals.Store(name, until)
	time.AfterFunc(arrivalTime, func() { n.arrivals.CompareAndDelete(name, until) })
}

// disksUntil returns the time until which the disks of a target may still arrive, long past without a recent login.
func (n *Node) disksUntil(name targetName) time.Time {
	until, _ := n.arrivals.Load(name)
	at, _ := until.(time.Time)
	return at
}
