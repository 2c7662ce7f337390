// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"fmt"
	"net"
	"strconv"

	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// portalName names a portal for interceptors.
func portalName(portal []byte) string {
	p, err := win32.ParseISCSITargetPortal(portal)
	if err != nil {
		return ""
	}
	return net.JoinHostPort(p.Address, strconv.Itoa(int(p.Socket)))
}

// sessionName names a session as Windows' own tools do.
func sessionName(s win32.ISCSIUniqueID) string {
	return fmt.Sprintf("%x-%x", s.AdapterUnique, s.AdapterSpecific)
}

func (k *intercepted) AddISCSISendTargetPortal(portal []byte) error {
	return k.do("AddISCSISendTargetPortal", portalName(portal),
		func() error { return k.kernel.AddISCSISendTargetPortal(portal) })
}

func (k *intercepted) ReportISCSISendTargetPortals() (portals []byte, count int, err error) {
	err = k.do("ReportISCSISendTargetPortals", "", func() (err error) {
		portals, count, err = k.kernel.ReportISCSISendTargetPortals()
		return err
	})
	return portals, count, err
}

func (k *intercepted) RefreshISCSISendTargetPortal(initiator string, initiatorPort uint32, portal []byte) error {
	return k.do("RefreshISCSISendTargetPortal", portalName(portal), func() error {
		return k.kernel.RefreshISCSISendTargetPortal(initiator, initiatorPort, portal)
	})
}

func (k *intercepted) RemoveISCSISendTargetPortal(initiator string, initiatorPort uint32, portal []byte) error {
	return k.do("RemoveISCSISendTargetPortal", portalName(portal), func() error {
		return k.kernel.RemoveISCSISendTargetPortal(initiator, initiatorPort, portal)
	})
}

func (k *intercepted) ReportISCSITargets() (targets []string, err error) {
	err = k.do("ReportISCSITargets", "", func() (err error) { targets, err = k.kernel.ReportISCSITargets(); return err })
	return targets, err
}

func (k *intercepted) ReportISCSITargetPortals(target string) (portals []byte, count int, err error) {
	err = k.do("ReportISCSITargetPortals", target, func() (err error) {
		portals, count, err = k.kernel.ReportISCSITargetPortals(target)
		return err
	})
	return portals, count, err
}

func (k *intercepted) ISCSIDiscoveryMechanisms(target string) (mechanisms []string, err error) {
	err = k.do("ISCSIDiscoveryMechanisms", target, func() (err error) {
		mechanisms, err = k.kernel.ISCSIDiscoveryMechanisms(target)
		return err
	})
	return mechanisms, err
}

func (k *intercepted) ISCSISessionList() (sessions ISCSISessions, err error) {
	err = k.do("ISCSISessionList", "", func() (err error) { sessions, err = k.kernel.ISCSISessionList(); return err })
	return sessions, err
}

func (k *intercepted) DevicesForISCSISession(session win32.ISCSIUniqueID) (devices []byte, count int, err error) {
	err = k.do("DevicesForISCSISession", sessionName(session), func() (err error) {
		devices, count, err = k.kernel.DevicesForISCSISession(session)
		return err
	})
	return devices, count, err
}

func (k *intercepted) ISCSIPersistentLogins() (logins []byte, count int, err error) {
	err = k.do("ISCSIPersistentLogins", "", func() (err error) {
		logins, count, err = k.kernel.ISCSIPersistentLogins()
		return err
	})
	return logins, count, err
}

func (k *intercepted) RemoveISCSIPersistentTarget(initiator string, initiatorPort uint32,
	target string, portal []byte) error {
	return k.do("RemoveISCSIPersistentTarget", target, func() error {
		return k.kernel.RemoveISCSIPersistentTarget(initiator, initiatorPort, target, portal)
	})
}

func (k *intercepted) LoginISCSITarget(login ISCSILogin) (session win32.ISCSIUniqueID, err error) {
	err = k.do("LoginISCSITarget", login.Target,
		func() (err error) { session, err = k.kernel.LoginISCSITarget(login); return err })
	return session, err
}

func (k *intercepted) LogoutISCSITarget(session win32.ISCSIUniqueID) error {
	return k.do("LogoutISCSITarget", sessionName(session), func() error { return k.kernel.LogoutISCSITarget(session) })
}

func (k *intercepted) SetISCSIInitiatorCHAPSharedSecret(secret Secret) error {
	return k.do("SetISCSIInitiatorCHAPSharedSecret", "",
		func() error { return k.kernel.SetISCSIInitiatorCHAPSharedSecret(secret) })
}
