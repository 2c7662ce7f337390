// SPDX-License-Identifier: Apache-2.0

package emulated

import (
	"errors"
	"fmt"
	"slices"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/iscsi"
)

// The initiator service of the node. Codes are those that Microsoft documents for ISCSI_STATUS_QUALIFIERS. Not
// confirmed: that a portal's targets are forgotten together with the portal.

// withISCSI runs f with the state of the initiator service.
func (n *Node) withISCSI(function, object string, f func(s iscsi.State) error) (err error) {
	defer n.call(function, object, &err)()
	if !n.iscsiRuns() {
		return win32.ISDSC_SERVICE_NOT_RUNNING
	}
	return f(n.state.ISCSI)
}

func (n *Node) iscsiRuns() bool {
	service := n.state.Services.Find("MSiSCSI")
	return service != nil && service.State == win32.SERVICE_RUNNING
}

// AddISCSISendTargetPortal implements kernel.ISCSI. It asks the portal for its targets, and registers one that does not
// answer all the same: the integration tests of wk8/go-win-iscsidsc saw both on Windows.
func (n *Node) AddISCSISendTargetPortal(portal []byte) error {
	return n.withISCSI("AddIScsiSendTargetPortalW", "", func(s iscsi.State) error {
		p, answer := s.ParsePortal(portal)
		if answer != nil && !errors.Is(answer, win32.ISDSC_CONNECTION_FAILED) {
			return answer
		}
		if slices.ContainsFunc(s.Registered, p.At.Same) {
			return win32.ISDSC_TARGET_PORTAL_ALREADY_EXISTS
		}
		err := n.update(func(s *state) {
			s.ISCSI.Registered = append(s.ISCSI.Registered, p.At)
			if answer == nil {
				s.ISCSI.Learn(p)
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
	err = n.withISCSI("ReportIScsiSendTargetPortalsW", "", func(s iscsi.State) error {
		for _, p := range s.Registered {
			portals = append(portals, deviceside.ISCSITargetPortalInfo(win32.ISCSITargetPortalInfo{
				InitiatorPort: win32.ISCSI_ANY_INITIATOR_PORT, Portal: p.Win32()})...)
		}
		count = len(s.Registered)
		return nil
	})
	return portals, count, err
}

// RefreshISCSISendTargetPortal implements kernel.ISCSI: the portal must be registered.
func (n *Node) RefreshISCSISendTargetPortal(initiator string, initiatorPort uint32, portal []byte) error {
	return n.withISCSI("RefreshIScsiSendTargetPortalW", "", func(s iscsi.State) error {
		if _, err := s.RegisteredPortal(initiator, initiatorPort, portal); err != nil {
			return err
		}
		p, err := s.ParsePortal(portal)
		if err != nil {
			return err
		}
		return n.update(func(s *state) { s.ISCSI.Learn(p) })
	})
}

// RemoveISCSISendTargetPortal implements kernel.ISCSI, whether the portal answers or not.
func (n *Node) RemoveISCSISendTargetPortal(initiator string, initiatorPort uint32, portal []byte) error {
	return n.withISCSI("RemoveIScsiSendTargetPortalW", "", func(s iscsi.State) error {
		p, err := s.RegisteredPortal(initiator, initiatorPort, portal)
		if err != nil {
			return err
		}
		return n.update(func(s *state) {
			s.ISCSI.Registered = slices.DeleteFunc(s.ISCSI.Registered, p.Same)
			s.ISCSI.Forget(p)
		})
	})
}

// ReportISCSITargets implements kernel.ISCSI. A portal that cannot be reached keeps its targets.
func (n *Node) ReportISCSITargets() (targets []string, err error) {
	err = n.withISCSI("ReportIScsiTargetsW", "", func(s iscsi.State) error {
		for _, k := range s.Known {
			if !slices.Contains(targets, k.Target) {
				targets = append(targets, k.Target)
			}
		}
		return nil
	})
	return targets, err
}

// ReportISCSITargetPortals implements kernel.ISCSI: the addresses that the target's portals advertise.
func (n *Node) ReportISCSITargetPortals(target string) (portals []byte, count int, err error) {
	err = n.withISCSI("ReportIScsiTargetPortalsW", target, func(s iscsi.State) error {
		found, err := s.Found(target)
		for _, k := range found {
			portals = append(portals, s.Advertised(k.Portal).Win32().Bytes()...)
		}
		count = len(found)
		return err
	})
	return portals, count, err
}

// ISCSIDiscoveryMechanisms implements kernel.ISCSI, in the form that win32.ParseSendTargets describes.
func (n *Node) ISCSIDiscoveryMechanisms(target string) (mechanisms []string, err error) {
	err = n.withISCSI("GetIScsiTargetInformationW", target, func(s iscsi.State) error {
		found, err := s.Found(target)
		for _, k := range found {
			mechanisms = append(mechanisms, fmt.Sprintf("SendTargets:*%s %07d %s", k.Portal.Address, k.Portal.Port,
				iscsi.AdapterName))
		}
		return err
	})
	return mechanisms, err
}

// ISCSIPersistentLogins implements kernel.ISCSI.
func (n *Node) ISCSIPersistentLogins() (logins []byte, count int, err error) {
	err = n.withISCSI("ReportIScsiPersistentLoginsW", "", func(s iscsi.State) error {
		for _, k := range s.Persistent {
			logins = append(logins, deviceside.PersistentISCSILogin(win32.PersistentISCSILogin{
				TargetName: k.Target, Initiator: iscsi.AdapterName, InitiatorPort: win32.ISCSI_ANY_INITIATOR_PORT,
				Portal: k.Portal.Win32(),
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
	return n.withISCSI("RemoveIScsiPersistentTargetW", target, func(s iscsi.State) error {
		p, err := win32.ParseISCSITargetPortal(portal)
		gone := func(k iscsi.Known) bool {
			return initiator == iscsi.AdapterName && k.Of(target) &&
				(p.Address == "" || k.Portal.Same(iscsi.Endpoint{Address: p.Address, Port: p.Socket}))
		}
		if err != nil || !slices.ContainsFunc(s.Persistent, gone) {
			return win32.ISDSC_NOT_FOUND
		}
		return n.update(func(s *state) { s.ISCSI.Persistent = slices.DeleteFunc(s.ISCSI.Persistent, gone) })
	})
}

// SetISCSIInitiatorCHAPSharedSecret implements kernel.ISCSI. Only a digest of the secret is kept.
func (n *Node) SetISCSIInitiatorCHAPSharedSecret(secret kernel.Secret) error {
	return n.withISCSI("SetIScsiInitiatorCHAPSharedSecret", "", func(iscsi.State) error {
		if len(secret) < iscsi.MinCHAPSecret || len(secret) > iscsi.MaxCHAPSecret {
			return win32.ISDSC_INVALID_INITIATOR_CHAP_SECRET
		}
		return n.update(func(s *state) { s.ISCSI.Mutual = iscsi.MutualDigest(secret) })
	})
}
