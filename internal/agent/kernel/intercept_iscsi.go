// SPDX-License-Identifier: Apache-2.0

package kernel

import (
	"fmt"
	"net"
	"strconv"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
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

func (k *intercepted) ReportISCSISendTargetPortals() ([]byte, int, error) {
	return k.array("ReportISCSISendTargetPortals", "", k.kernel.ReportISCSISendTargetPortals)
}

func (k *intercepted) RefreshISCSISendTargetPortal(initiator string, initiatorPort uint32, portal []byte) error {
	return k.call(Call{Function: "RefreshISCSISendTargetPortal", Object: portalName(portal),
		Parameters: []any{initiator, initiatorPort}}, func() error {
		return k.kernel.RefreshISCSISendTargetPortal(initiator, initiatorPort, portal)
	})
}

func (k *intercepted) RemoveISCSISendTargetPortal(initiator string, initiatorPort uint32, portal []byte) error {
	return k.call(Call{Function: "RemoveISCSISendTargetPortal", Object: portalName(portal),
		Parameters: []any{initiator, initiatorPort}}, func() error {
		return k.kernel.RemoveISCSISendTargetPortal(initiator, initiatorPort, portal)
	})
}

func (k *intercepted) ReportISCSITargets() ([]string, error) {
	return returned(k, Call{Function: "ReportISCSITargets"}, k.kernel.ReportISCSITargets)
}

func (k *intercepted) ReportISCSITargetPortals(target string) ([]byte, int, error) {
	return k.array("ReportISCSITargetPortals", target,
		func() ([]byte, int, error) { return k.kernel.ReportISCSITargetPortals(target) })
}

func (k *intercepted) ISCSIDiscoveryMechanisms(target string) ([]string, error) {
	return returned(k, Call{Function: "ISCSIDiscoveryMechanisms", Object: target},
		func() ([]string, error) { return k.kernel.ISCSIDiscoveryMechanisms(target) })
}

func (k *intercepted) ISCSISessionList() (ISCSISessions, error) {
	return returned(k, Call{Function: "ISCSISessionList"}, k.kernel.ISCSISessionList)
}

func (k *intercepted) DevicesForISCSISession(session win32.ISCSIUniqueID) ([]byte, int, error) {
	return k.array("DevicesForISCSISession", sessionName(session),
		func() ([]byte, int, error) { return k.kernel.DevicesForISCSISession(session) })
}

func (k *intercepted) ISCSIPersistentLogins() ([]byte, int, error) {
	return k.array("ISCSIPersistentLogins", "", k.kernel.ISCSIPersistentLogins)
}

func (k *intercepted) RemoveISCSIPersistentTarget(initiator string, initiatorPort uint32,
	target string, portal []byte) error {
	return k.call(Call{Function: "RemoveISCSIPersistentTarget", Object: target,
		Parameters: []any{initiator, initiatorPort, portalName(portal)}}, func() error {
		return k.kernel.RemoveISCSIPersistentTarget(initiator, initiatorPort, target, portal)
	})
}

func (k *intercepted) LoginISCSITarget(login ISCSILogin) (win32.ISCSIUniqueID, error) {
	return returned(k, Call{Function: "LoginISCSITarget", Object: login.Target,
		Parameters: []any{portalName(login.Portal), login.InformationSpecified, login.AuthType}},
		func() (win32.ISCSIUniqueID, error) { return k.kernel.LoginISCSITarget(login) })
}

func (k *intercepted) LogoutISCSITarget(session win32.ISCSIUniqueID) error {
	return k.do("LogoutISCSITarget", sessionName(session), func() error { return k.kernel.LogoutISCSITarget(session) })
}

func (k *intercepted) SetISCSIInitiatorCHAPSharedSecret(secret Secret) error {
	return k.do("SetISCSIInitiatorCHAPSharedSecret", "",
		func() error { return k.kernel.SetISCSIInitiatorCHAPSharedSecret(secret) })
}
