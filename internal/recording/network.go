// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"errors"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// Neither users nor passwords of shares and targets are recorded, nor the buffers that Windows puts them in.

// array makes a call that returns an array of structures.
func (k *recorded) array(c *Call, f func() ([]byte, int, error)) (out []byte, count int, err error) {
	err = k.w.do(c, func() (err error) {
		if out, count, err = f(); hasResult(err) {
			c.keep(out)
			c.Count = count
		}
		return err
	})
	return out, count, err
}

// hasResult reports whether a call of the iSCSI initiator with that error returned something.
func hasResult(err error) bool {
	var code win32.Errno
	return err == nil || errors.As(err, &code) && code.IsISCSIWarning()
}

// onSession returns a call about a session.
func onSession(function string, s win32.ISCSIUniqueID) *Call {
	return &Call{Function: function, Numbers: []int64{int64(s.AdapterUnique), int64(s.AdapterSpecific)}}
}

func (k *recorded) AddISCSISendTargetPortal(portal []byte) error {
	return k.w.do(&Call{Function: "AddISCSISendTargetPortal", In: portal},
		func() error { return k.kernel.AddISCSISendTargetPortal(portal) })
}

func (k *recorded) ReportISCSISendTargetPortals() ([]byte, int, error) {
	return k.array(&Call{Function: "ReportISCSISendTargetPortals"}, k.kernel.ReportISCSISendTargetPortals)
}

func (k *recorded) RefreshISCSISendTargetPortal(initiator string, initiatorPort uint32, portal []byte) error {
	c := &Call{Function: "RefreshISCSISendTargetPortal", Object: initiator,
		Numbers: []int64{int64(initiatorPort)}, In: portal}
	return k.w.do(c, func() error { return k.kernel.RefreshISCSISendTargetPortal(initiator, initiatorPort, portal) })
}

func (k *recorded) RemoveISCSISendTargetPortal(initiator string, initiatorPort uint32, portal []byte) error {
	c := &Call{Function: "RemoveISCSISendTargetPortal", Object: initiator,
		Numbers: []int64{int64(initiatorPort)}, In: portal}
	return k.w.do(c, func() error { return k.kernel.RemoveISCSISendTargetPortal(initiator, initiatorPort, portal) })
}

func (k *recorded) ReportISCSITargets() (targets []string, err error) {
	c := &Call{Function: "ReportISCSITargets"}
	err = k.w.do(c, func() (err error) {
		if targets, err = k.kernel.ReportISCSITargets(); hasResult(err) {
			c.returned(targets)
		}
		return err
	})
	return targets, err
}

func (k *recorded) ReportISCSITargetPortals(target string) ([]byte, int, error) {
	return k.array(&Call{Function: "ReportISCSITargetPortals", Object: target}, func() ([]byte, int, error) {
		return k.kernel.ReportISCSITargetPortals(target)
	})
}

func (k *recorded) ISCSIDiscoveryMechanisms(target string) (mechanisms []string, err error) {
	c := &Call{Function: "ISCSIDiscoveryMechanisms", Object: target}
	err = k.w.do(c, func() (err error) {
		if mechanisms, err = k.kernel.ISCSIDiscoveryMechanisms(target); hasResult(err) {
			c.returned(mechanisms)
		}
		return err
	})
	return mechanisms, err
}

func (k *recorded) ISCSISessionList() (sessions kernel.ISCSISessions, err error) {
	c := &Call{Function: "ISCSISessionList"}
	err = k.w.do(c, func() (err error) {
		if sessions, err = k.kernel.ISCSISessionList(); hasResult(err) {
			c.keep(sessions.Buffer)
			c.Base, c.Count = sessions.Base, sessions.Count
		}
		return err
	})
	return sessions, err
}

func (k *recorded) DevicesForISCSISession(session win32.ISCSIUniqueID) ([]byte, int, error) {
	return k.array(onSession("DevicesForISCSISession", session), func() ([]byte, int, error) {
		return k.kernel.DevicesForISCSISession(session)
	})
}

// ISCSIPersistentLogins keeps the logins without their options, in which user names and secrets are.
func (k *recorded) ISCSIPersistentLogins() (logins []byte, count int, err error) {
	c := &Call{Function: "ISCSIPersistentLogins"}
	err = k.w.do(c, func() (err error) {
		if logins, count, err = k.kernel.ISCSIPersistentLogins(); hasResult(err) {
			c.Count = count
			if known, err := win32.ParsePersistentISCSILogins(logins, count); err == nil {
				c.returned(known)
			}
		}
		return err
	})
	return logins, count, err
}

func (k *recorded) RemoveISCSIPersistentTarget(initiator string, initiatorPort uint32,
	target string, portal []byte) error {
	c := &Call{Function: "RemoveISCSIPersistentTarget", Object: initiator, Argument: target,
		Numbers: []int64{int64(initiatorPort)}, In: portal}
	return k.w.do(c, func() error {
		return k.kernel.RemoveISCSIPersistentTarget(initiator,
			initiatorPort, target, portal)
	})
}

func (k *recorded) LoginISCSITarget(login kernel.ISCSILogin) (win32.ISCSIUniqueID, error) {
	c := &Call{
		Function: "LoginISCSITarget", Object: login.Target, In: login.Portal,
		Numbers: []int64{int64(login.InformationSpecified), int64(login.AuthType)},
	}
	return value(k.w, c, func() (win32.ISCSIUniqueID, error) { return k.kernel.LoginISCSITarget(login) })
}

func (k *recorded) LogoutISCSITarget(session win32.ISCSIUniqueID) error {
	return k.w.do(onSession("LogoutISCSITarget", session), func() error { return k.kernel.LogoutISCSITarget(session) })
}

func (k *recorded) SetISCSIInitiatorCHAPSharedSecret(secret kernel.Secret) error {
	return k.w.do(&Call{Function: "SetISCSIInitiatorCHAPSharedSecret"}, func() error {
		return k.kernel.SetISCSIInitiatorCHAPSharedSecret(secret)
	})
}

func (k *recorded) SMBGlobalMappings() ([]kernel.SMBGlobalMapping, error) {
	return value(k.w, &Call{Function: "SMBGlobalMappings"}, k.kernel.SMBGlobalMappings)
}

func (k *recorded) CreateSMBGlobalMapping(remotePath, userName string, password kernel.Secret,
	requirePrivacy bool) error {
	c := &Call{Function: "CreateSMBGlobalMapping", Object: remotePath, Numbers: []int64{0}}
	if requirePrivacy {
		c.Numbers[0] = 1
	}
	return k.w.do(c, func() error {
		return k.kernel.CreateSMBGlobalMapping(remotePath, userName,
			password, requirePrivacy)
	})
}

func (k *recorded) RemoveSMBGlobalMapping(remotePath string) error {
	return k.w.do(&Call{Function: "RemoveSMBGlobalMapping", Object: remotePath}, func() error {
		return k.kernel.RemoveSMBGlobalMapping(remotePath)
	})
}
