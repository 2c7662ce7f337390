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

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	native "github.com/kubernetes-csi/csi-proxy/internal/agent/kernel/windows"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// nativeKernel returns this machine's kernel.
func nativeKernel() kernel.Kernel { return native.New() }

// borrowed is whether a test has the initiator, which is then in use by it.
var borrowed bool

// BorrowInitiator starts the machine's iSCSI initiator for a test, which may do with it what it likes. At the test's
// end it has what it had before: nothing. An initiator in use skips the test.
func BorrowInitiator(t testing.TB) {
	t.Helper()
	if borrowed {
		return
	}
	start(t, initiatorService, "iSCSI initiator")
	use, err := lookAtInitiator(nativeKernel())
	check(t, err)
	if len(use.sessions)+len(use.portals)+use.logins > 0 {
		t.Skip(Unavailable("the iSCSI initiator of this machine is in use"))
	}
	if MaySetCHAP() == nil {
		check(t, change(t, secretSetting, "", func() error { return nil })) // the test sets it
	}
	borrowed = true
	atEnd(t, "restoring the iSCSI initiator", func(context.Context) error {
		borrowed = false
		return restoreInitiator()
	})
}

// initiatorUse is what an initiator has.
type initiatorUse struct {
	sessions []win32.ISCSISession
	portals  []win32.ISCSITargetPortalInfo
	logins   int // that Windows repeats
}

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
func restoreInitiator() error {
	k := nativeKernel()
	use, err := lookAtInitiator(k)
	if err != nil {
		return err
	}
	var failures []error
	for _, s := range use.sessions {
		if !strings.Contains(strings.ToLower(s.TargetName), namePrefix) {
			failures = append(failures, errors.New("no test made the session with "+s.TargetName))
			continue
		}
		failures = append(failures, k.LogoutISCSITarget(s.ID))
	}
	for _, p := range use.portals {
		if !isTestAddress(p.Portal.Address) {
			failures = append(failures, errors.New("no test made the portal "+p.Portal.Address))
			continue
		}
		failures = append(failures, k.RemoveISCSISendTargetPortal(p.InitiatorName, p.InitiatorPort, p.Portal.Bytes()))
	}
	if use.logins > 0 {
		failures = append(failures, fmt.Errorf("no test made %d persistent logins", use.logins))
	}
	return errors.Join(failures...)
}

// endSessions logs out of a target. A target that goes under its sessions leaves the initiator connecting and its disks
// hanging.
func endSessions(target string) error {
	k := nativeKernel()
	use, err := lookAtInitiator(k)
	if err != nil {
		return err
	}
	var failures []error
	for _, s := range use.sessions {
		if strings.EqualFold(s.TargetName, target) {
			failures = append(failures, k.LogoutISCSITarget(s.ID))
		}
	}
	return errors.Join(failures...)
}

// isTestAddress reports whether a portal's address is one of those that the tests use: this machine's own, and those
// that are reserved for documentation (RFC 5737, RFC 2606).
func isTestAddress(address string) bool {
	if address == "localhost" || strings.HasSuffix(address, ".invalid") {
		return true
	}
	ip := net.ParseIP(address)
	reserved := net.IPNet{IP: net.IPv4(192, 0, 2, 0), Mask: net.CIDRMask(24, 32)}
	own, _ := net.InterfaceAddrs()
	return ip.IsLoopback() || reserved.Contains(ip) || slices.ContainsFunc(own, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(ip)
	})
}
