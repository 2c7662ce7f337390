// SPDX-License-Identifier: Apache-2.0

package node

import (
	"errors"
	"fmt"
	"time"

	"github.com/kubernetes-csi/csi-proxy/client/reason"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/errdefs"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/operation"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// initiatorService is the iSCSI initiator service as operations use it. Each function retries transient errors, and
// drops warnings that come with success. Its errors are those of the kernel.
type initiatorService struct{ op *op }

func (o *op) initiator() initiatorService { return initiatorService{o} }

// passesWithin returns how long a code of iscsidsc.dll is waited out, 0 for one that does not pass. As seen or
// documented, a session is busy while another caller logs in or out. Its devices are in use right after a login, and
// while a virus scanner reads a disk. A buffer may be "too small" whatever its size: lists grow between two calls.
func passesWithin(code win32.Errno) time.Duration {
	switch code {
	case win32.ISDSC_SESSION_BUSY:
		return 10 * time.Second
	case win32.ISDSC_DEVICE_BUSY_ON_SESSION, win32.ERROR_INSUFFICIENT_BUFFER, win32.ISDSC_BUFFER_TOO_SMALL:
		return 5 * time.Second
	}
	return 0
}

// retry calls a function until it succeeds or fails with a code that does not pass.
func (i initiatorService) retry(f func() error) error {
	waits := map[win32.Errno]*operation.Backoff{}
	for {
		err := f()
		var code win32.Errno
		if !errors.As(err, &code) {
			return err
		}
		if code.IsISCSIWarning() {
			i.op.log().Info("The iSCSI initiator service did what was asked, with a warning", "remark", err)
			return nil
		}
		if waits[code] == nil {
			waits[code] = &operation.Backoff{}
		}
		if limit := passesWithin(code); limit == 0 || !waits[code].Wait(limit) {
			return err
		}
	}
}

// list calls a function that fills a buffer with structures, and parses these.
func list[T any](i initiatorService, f func() ([]byte, int, error), parse func([]byte, int) ([]T, error)) (all []T,
	err error) {
	var b []byte
	var count int
	err = i.retry(func() (err error) { b, count, err = f(); return err })
	defer func() { clear(b) }() // secrets may follow the structures
	if err != nil {
		return nil, err
	}
	return parse(b, count)
}

func (i initiatorService) addPortal(p portal) error {
	return i.retry(func() error { return i.op.kernel.AddISCSISendTargetPortal(p.win32().Bytes()) })
}

func (i initiatorService) portals() ([]win32.ISCSITargetPortalInfo, error) {
	return list(i, i.op.kernel.ReportISCSISendTargetPortals, win32.ParseISCSITargetPortalInfos)
}

func (i initiatorService) refreshPortal(r win32.ISCSITargetPortalInfo) error {
	return i.retry(func() error {
		return i.op.kernel.RefreshISCSISendTargetPortal(r.InitiatorName, r.InitiatorPort, r.Portal.Bytes())
	})
}

func (i initiatorService) removePortal(r win32.ISCSITargetPortalInfo) error {
	return i.retry(func() error {
		return i.op.kernel.RemoveISCSISendTargetPortal(r.InitiatorName, r.InitiatorPort, r.Portal.Bytes())
	})
}

func (i initiatorService) targets() (names []string, err error) {
	err = i.retry(func() (err error) { names, err = i.op.kernel.ReportISCSITargets(); return err })
	return names, err
}

func (i initiatorService) targetPortals(target string) ([]win32.ISCSITargetPortal, error) {
	ask := func() ([]byte, int, error) { return i.op.kernel.ReportISCSITargetPortals(target) }
	return list(i, ask, win32.ParseISCSITargetPortals)
}

func (i initiatorService) discoveryMechanisms(target string) (mechanisms []string, err error) {
	err = i.retry(func() (err error) { mechanisms, err = i.op.kernel.ISCSIDiscoveryMechanisms(target); return err })
	return mechanisms, err
}

func (i initiatorService) sessions() ([]win32.ISCSISession, error) {
	var found kernel.ISCSISessions
	err := i.retry(func() (err error) { found, err = i.op.kernel.ISCSISessionList(); return err })
	if err != nil {
		return nil, err
	}
	return win32.ParseISCSISessionList(found.Buffer, found.Base, found.Count)
}

func (i initiatorService) devices(session win32.ISCSIUniqueID) ([]win32.ISCSIDevice, error) {
	ask := func() ([]byte, int, error) { return i.op.kernel.DevicesForISCSISession(session) }
	return list(i, ask, win32.ParseISCSIDevices)
}

func (i initiatorService) persistentLogins() ([]win32.PersistentISCSILogin, error) {
	return list(i, i.op.kernel.ISCSIPersistentLogins, win32.ParsePersistentISCSILogins)
}

func (i initiatorService) removePersistentLogin(l win32.PersistentISCSILogin) error {
	return i.retry(func() error {
		return i.op.kernel.RemoveISCSIPersistentTarget(l.Initiator, l.InitiatorPort, l.TargetName, l.Portal.Bytes())
	})
}

func (i initiatorService) login(l kernel.ISCSILogin) error {
	return i.retry(func() error { _, err := i.op.kernel.LoginISCSITarget(l); return err })
}

func (i initiatorService) logout(session win32.ISCSIUniqueID) error {
	return i.retry(func() error { return i.op.kernel.LogoutISCSITarget(session) })
}

func (i initiatorService) setCHAPSecret(secret Secret) error {
	return i.retry(func() error { return i.op.kernel.SetISCSIInitiatorCHAPSharedSecret(secret) })
}

// iscsiService is the Windows service for iSCSI.
const iscsiService = "MSiSCSI"

// failISCSI is errdefs.Errorf for calls of the initiator service; it names the service when that is not running.
func (o *op) failISCSI(err error, format string, args ...any) error {
	if !o.iscsiStopped(err) {
		return errdefs.Errorf(err, format, args...)
	}
	return errdefs.FailedPrecondition.WrapErrorf(err, reason.ServiceNotRunning,
		"%s: the service %s is not running on this node; start it with StartService",
		fmt.Sprintf(format, args...), iscsiService)
}

// iscsiStopped reports whether an error means that the initiator service is stopped. A failing RPC may mean that.
func (o *op) iscsiStopped(err error) bool {
	if errdefs.HasCode(err, win32.ISDSC_SERVICE_NOT_RUNNING, win32.ERROR_SERVICE_NOT_ACTIVE) {
		return true
	}
	if !errdefs.HasCode(err, win32.RPC_S_SERVER_UNAVAILABLE, win32.EPT_S_NOT_REGISTERED) {
		return false
	}
	service, err := o.kernel.QueryService(iscsiService)
	return err == nil && service.State == win32.SERVICE_STOPPED
}
