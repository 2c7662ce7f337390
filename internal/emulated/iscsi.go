// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
)

// The initiator service of the node. Codes are those that Microsoft documents for ISCSI_STATUS_QUALIFIERS. Not
// confirmed: that a portal's targets are forgotten together with the portal.

// The node's name as an initiator, and the name of the adapter that makes its sessions.
const (
	iscsiInitiator = "iqn.1991-05.com.microsoft:emulated"
	iscsiAdapter   = `ROOT\ISCSIPRT\0000_0`
)

// withISCSI runs f with the state of the initiator service.
func (n *Node) withISCSI(function, object string, f func(s iscsiState) error) error {
	return n.call(function, object, func() error {
		if err := n.passTime(); err != nil {
			return err
		}
		defer n.retireGone()
		return n.whileServiceRuns(f)
	})
}

func (n *Node) whileServiceRuns(f func(s iscsiState) error) error {
	if service := n.state.Services.Find("MSiSCSI"); service == nil || service.State != win32.SERVICE_RUNNING {
		return win32.ISDSC_SERVICE_NOT_RUNNING
	}
	return f(n.state.ISCSI)
}

// parsePortal parses a caller's portal, and checks that a storage system answers there.
func (s iscsiState) parsePortal(b []byte) (*ISCSIPortalSpec, error) {
	p, err := win32.ParseISCSITargetPortal(b)
	if err != nil || p.Address == "" || p.Socket == 0 {
		return nil, win32.ISDSC_INVALID_PARAMETER
	}
	name := portalName{p.Address, p.Socket}
	if portal := s.reachable(name); portal != nil {
		return portal, nil
	}
	if _, err := netip.ParseAddr(p.Address); err != nil && s.portal(name) == nil {
		return nil, win32.ISDSC_DNS_NAME_UNRESOLVED
	}
	return &ISCSIPortalSpec{At: name}, win32.ISDSC_CONNECTION_FAILED
}

// AddISCSISendTargetPortal implements kernel.ISCSI. It asks the portal for its targets, and registers one that does not
// answer all the same: the integration tests of wk8/go-win-iscsidsc saw both on Windows.
func (n *Node) AddISCSISendTargetPortal(portal []byte) error {
	return n.withISCSI("AddIScsiSendTargetPortalW", "", func(s iscsiState) error {
		p, answer := s.parsePortal(portal)
		if answer != nil && !errors.Is(answer, win32.ISDSC_CONNECTION_FAILED) {
			return answer
		}
		if slices.ContainsFunc(s.Registered, p.At.same) {
			return win32.ISDSC_TARGET_PORTAL_ALREADY_EXISTS
		}
		err := n.update(func(s *state) {
			s.ISCSI.Registered = append(s.ISCSI.Registered, p.At)
			if answer == nil {
				s.ISCSI.learn(p)
			}
		})
		if err != nil {
			return err
		}
		return answer
	})
}

// ReportISCSISendTargetPortals implements kernel.ISCSI.
func (n *Node) ReportISCSISendTargetPortals() (portals []byte, count int, err error) {
	err = n.withISCSI("ReportIScsiSendTargetPortalsW", "", func(s iscsiState) error {
		for _, p := range s.Registered {
			portals = append(portals, deviceside.ISCSITargetPortalInfo(win32.ISCSITargetPortalInfo{
				InitiatorPort: win32.ISCSI_ANY_INITIATOR_PORT, Portal: p.portal()})...)
		}
		count = len(s.Registered)
		return nil
	})
	return portals, count, err
}

func (p portalName) portal() win32.ISCSITargetPortal {
	return win32.ISCSITargetPortal{Address: p.Address, Socket: p.Port}
}

// registered parses a caller's portal, reachable or not, and checks that it is registered for the initiator.
func (s iscsiState) registered(initiator string, port uint32, b []byte) (portalName, error) {
	p, err := win32.ParseISCSITargetPortal(b)
	if err != nil {
		return portalName{}, win32.ISDSC_INVALID_PARAMETER
	}
	name := portalName{p.Address, p.Socket}
	if initiator != "" || port != win32.ISCSI_ANY_INITIATOR_PORT || !slices.ContainsFunc(s.Registered, name.same) {
		return name, win32.ISDSC_PORTAL_NOT_FOUND
	}
	return name, nil
}

// RefreshISCSISendTargetPortal implements kernel.ISCSI.
func (n *Node) RefreshISCSISendTargetPortal(initiator string, initiatorPort uint32, portal []byte) error {
	return n.withISCSI("RefreshIScsiSendTargetPortalW", "", func(s iscsiState) error {
		if _, err := s.registered(initiator, initiatorPort, portal); err != nil {
			return err
		}
		p, err := s.parsePortal(portal)
		if err != nil {
			return err
		}
		return n.update(func(s *state) { s.ISCSI.learn(p) })
	})
}

// learn keeps a portal's answer to the question for its targets.
func (s *iscsiState) learn(p *ISCSIPortalSpec) {
	s.forget(p.At)
	for _, t := range p.Targets {
		s.Known = append(s.Known, iscsiKnown{t.Name, p.At})
	}
}

// forget drops the targets that were discovered at a portal.
func (s *iscsiState) forget(p portalName) {
	s.Known = slices.DeleteFunc(s.Known, func(k iscsiKnown) bool { return k.Portal.same(p) })
}

// RemoveISCSISendTargetPortal implements kernel.ISCSI.
func (n *Node) RemoveISCSISendTargetPortal(initiator string, initiatorPort uint32, portal []byte) error {
	return n.withISCSI("RemoveIScsiSendTargetPortalW", "", func(s iscsiState) error {
		p, err := s.registered(initiator, initiatorPort, portal)
		if err != nil {
			return err
		}
		return n.update(func(s *state) {
			s.ISCSI.Registered = slices.DeleteFunc(s.ISCSI.Registered, p.same)
			s.ISCSI.forget(p)
		})
	})
}

// ReportISCSITargets implements kernel.ISCSI. A portal that cannot be reached keeps its targets.
func (n *Node) ReportISCSITargets() (targets []string, err error) {
	err = n.withISCSI("ReportIScsiTargetsW", "", func(iscsiState) error {
		for _, k := range n.state.ISCSI.Known {
			if !slices.Contains(targets, k.Target) {
				targets = append(targets, k.Target)
			}
		}
		return nil
	})
	return targets, err
}

// ReportISCSITargetPortals implements kernel.ISCSI.
func (n *Node) ReportISCSITargetPortals(target string) (portals []byte, count int, err error) {
	err = n.withISCSI("ReportIScsiTargetPortalsW", target, func(s iscsiState) error {
		for _, k := range s.Known {
			if k.of(target) {
				portals = append(portals, s.advertised(k.Portal).portal().Bytes()...)
				count++
			}
		}
		if count == 0 {
			return win32.ISDSC_TARGET_NOT_FOUND
		}
		return nil
	})
	return portals, count, err
}

// ISCSIDiscoveryMechanisms implements kernel.ISCSI, in the form that win32.ParseSendTargets describes.
func (n *Node) ISCSIDiscoveryMechanisms(target string) (mechanisms []string, err error) {
	err = n.withISCSI("GetIScsiTargetInformationW", target, func(s iscsiState) error {
		for _, k := range s.Known {
			if k.of(target) {
				mechanisms = append(mechanisms, fmt.Sprintf("SendTargets:*%s %07d %s", k.Portal.Address,
					k.Portal.Port, iscsiAdapter))
			}
		}
		if len(mechanisms) == 0 {
			return win32.ISDSC_TARGET_NOT_FOUND
		}
		return nil
	})
	return mechanisms, err
}

// ISCSIPersistentLogins implements kernel.ISCSI.
func (n *Node) ISCSIPersistentLogins() (logins []byte, count int, err error) {
	err = n.withISCSI("ReportIScsiPersistentLoginsW", "", func(s iscsiState) error {
		for _, k := range s.Persistent {
			logins = append(logins, deviceside.PersistentISCSILogin(win32.PersistentISCSILogin{
				TargetName: k.Target, Initiator: iscsiAdapter, InitiatorPort: win32.ISCSI_ANY_INITIATOR_PORT,
				Portal: k.Portal.portal(),
			})...)
		}
		count = len(s.Persistent)
		return nil
	})
	return logins, count, err
}

// RemoveISCSIPersistentTarget implements kernel.ISCSI. A portal that "contains no information" means all portals.
//
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-removeiscsipersistenttargetw
func (n *Node) RemoveISCSIPersistentTarget(initiator string, _ uint32, target string, portal []byte) error {
	return n.withISCSI("RemoveIScsiPersistentTargetW", target, func(s iscsiState) error {
		p, err := win32.ParseISCSITargetPortal(portal)
		if err != nil {
			return win32.ISDSC_INVALID_PARAMETER
		}
		gone := func(k iscsiKnown) bool {
			return initiator == iscsiAdapter && k.of(target) &&
				(p.Address == "" || k.Portal.same(portalName{p.Address, p.Socket}))
		}
		if !slices.ContainsFunc(s.Persistent, gone) {
			return win32.ISDSC_NOT_FOUND
		}
		return n.update(func(s *state) { s.ISCSI.Persistent = slices.DeleteFunc(s.ISCSI.Persistent, gone) })
	})
}

// SetISCSIInitiatorCHAPSharedSecret implements kernel.ISCSI.
func (n *Node) SetISCSIInitiatorCHAPSharedSecret(secret kernel.Secret) error {
	return n.withISCSI("SetIScsiInitiatorCHAPSharedSecret", "", func(iscsiState) error {
		if len(secret) < minCHAPSecret || len(secret) > maxCHAPSecret {
			return win32.ISDSC_INVALID_INITIATOR_CHAP_SECRET
		}
		salted := saltSecret(secret)
		return n.update(func(s *state) { s.ISCSI.Mutual = salted })
	})
}

// The lengths of CHAP secrets that Windows accepts without IPsec, in bytes.
const minCHAPSecret, maxCHAPSecret = 12, 16

// saltedSecret can tell whether a secret is the one that was set, and nothing else about it.
type saltedSecret struct {
	Salt []byte `json:"salt"`
	Sum  []byte `json:"sum"`
}

func saltSecret(secret []byte) *saltedSecret {
	s := &saltedSecret{Salt: make([]byte, sha256.Size)}
	_, _ = rand.Read(s.Salt) // never fails: crypto/rand ends the program instead
	s.Sum = s.sum(secret)
	return s
}

func (s *saltedSecret) sum(secret []byte) []byte {
	h := sha256.New()
	_, _ = h.Write(s.Salt) // a hash never fails
	_, _ = h.Write(secret)
	return h.Sum(nil)
}

func (s *saltedSecret) is(secret []byte) bool {
	return subtle.ConstantTimeCompare(s.Sum, s.sum(secret)) == 1
}
