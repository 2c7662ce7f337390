// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	native "github.com/kubernetes-csi/csi-proxy/internal/agent/kernel/windows"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winservice"
)

// secretMark marks the entry of an initiator whose secret may have been set.
const secretMark = "secret"

// nativeKernel returns this machine's kernel.
func nativeKernel() kernel.Kernel { return native.New() }

// BorrowInitiator starts the machine's iSCSI initiator for a test, which may do with it what it likes. At the test's
// end it has what it had before: nothing. An initiator in use is an Unavailable.
func BorrowInitiator(t testing.TB) error {
	t.Helper()
	m, err := winservice.Connect()
	if err != nil {
		return err
	}
	defer func() { _ = m.Close() }()
	service, err := m.Query(initiatorService)
	if err != nil {
		return err
	}
	if borrowed, err := ledgerHas(KindInitiator); err != nil || borrowed {
		return err
	}
	if err := mayStart("iSCSI initiator", service.State, service.Start); err != nil {
		return err
	}
	if service.State != winservice.Running {
		err := provision(t, Entry{Kind: KindStopped, Name: initiatorService}, func(*Entry) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			return winservice.Start(ctx, m, initiatorService)
		})
		if err != nil {
			return err
		}
	}
	use, err := lookAtInitiator(nativeKernel())
	if err != nil {
		return err
	}
	if use.any() {
		return Unavailable("the iSCSI initiator of this machine is in use")
	}
	e := Entry{Kind: KindInitiator, Name: initiatorService}
	if MaySetCHAP() == nil {
		e.Mark = secretMark
	}
	return provision(t, e, func(*Entry) error { return nil })
}

// ledgerHas reports whether the environment's ledger has an entry of a kind.
func ledgerHas(kind Kind) (bool, error) {
	l, err := inherited()
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(l.Remaining(), func(e Entry) bool { return e.Kind == kind }), nil
}

// initiatorUse is what an initiator has.
type initiatorUse struct {
	sessions []win32.ISCSISession
	portals  []win32.ISCSITargetPortalInfo
	logins   int // that Windows repeats
}

func (u initiatorUse) any() bool { return len(u.sessions)+len(u.portals)+u.logins > 0 }

func lookAtInitiator(k kernel.Kernel) (use initiatorUse, err error) {
	list, err := k.ISCSISessionList()
	if err != nil {
		return use, err
	}
	if use.sessions, err = win32.ParseISCSISessionList(list.Buffer, list.Base, list.Count); err != nil {
		return use, err
	}
	portals, count, err := k.ReportISCSISendTargetPortals()
	if err != nil {
		return use, err
	}
	if use.portals, err = win32.ParseISCSITargetPortalInfos(portals, count); err != nil {
		return use, err
	}
	_, use.logins, err = k.ISCSIPersistentLogins()
	return use, err
}

// restoreInitiator takes from the initiator what the tests have given it.
func restoreInitiator(ctx context.Context, e Entry) error {
	// The portals are in the registry, which is read at the start.
	err := withServices(func(m winservice.Manager) error { return winservice.Start(ctx, m, e.Name) })
	if err != nil {
		return err
	}
	k := nativeKernel()
	use, err := lookAtInitiator(k)
	if err != nil {
		return err
	}
	var failures []error
	for _, s := range use.sessions {
		if !strings.Contains(strings.ToLower(s.TargetName), namePrefix) {
			failures = append(failures, NotOurs("a session with "+s.TargetName))
			continue
		}
		failures = append(failures, k.LogoutISCSITarget(s.ID))
	}
	for _, p := range use.portals {
		if !isTestAddress(p.Portal.Address) {
			failures = append(failures, NotOurs("the portal "+p.Portal.Address))
			continue
		}
		failures = append(failures, k.RemoveISCSISendTargetPortal(p.InitiatorName, p.InitiatorPort, p.Portal.Bytes()))
	}
	if use.logins > 0 {
		failures = append(failures, NotOurs(fmt.Sprintf("%d persistent logins", use.logins)))
	}
	if err := errors.Join(failures...); err != nil {
		return err // its owner uses it now, and perhaps the secret
	}
	if e.Mark != secretMark { // none was set
		return nil
	}
	if err := k.SetISCSIInitiatorCHAPSharedSecret(nil); err != nil {
		return fmt.Errorf("clearing the secret for mutual CHAP: %w", err)
	}
	return nil
}

// endSessions logs out of a target that was made.
func endSessions(_ context.Context, e Entry) error {
	if !MadeHere(e.Name) {
		return NotOurs("its name is not a random one")
	}
	return withServices(func(m winservice.Manager) error {
		if s, err := m.Query(initiatorService); err != nil || s.State != winservice.Running {
			return err // what does not run has no sessions
		}
		k := nativeKernel()
		use, err := lookAtInitiator(k)
		if err != nil {
			return err
		}
		var failures []error
		for _, s := range use.sessions {
			if strings.EqualFold(s.TargetName, e.Name) {
				failures = append(failures, k.LogoutISCSITarget(s.ID))
			}
		}
		return errors.Join(failures...)
	})
}

// isTestAddress reports whether a portal's address is one of those that the tests use: this machine's own, and those
// that are reserved for documentation (RFC 5737, RFC 2606).
func isTestAddress(address string) bool {
	if address == "localhost" || strings.HasSuffix(address, ".invalid") {
		return true
	}
	ip := net.ParseIP(address)
	if ip == nil {
		return false
	}
	nobodys := net.IPNet{IP: net.IPv4(192, 0, 2, 0), Mask: net.CIDRMask(24, 32)}
	if ip.IsLoopback() || nobodys.Contains(ip) {
		return true
	}
	own, _ := net.InterfaceAddrs()
	for _, a := range own {
		if n, ok := a.(*net.IPNet); ok && n.IP.Equal(ip) {
			return true
		}
	}
	return false
}
