// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/deviceside"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/machine"
)

func targetQuestions() []Question {
	return []Question{
		{18, "Which lengths of a CHAP secret does the initiator take, and does an empty one clear it?", askSecretLengths},
		{19, "Under which addresses does a target answer that was discovered by address and by name, and which mechanism " +
			"is told?", askDiscovery},
		{23, "What does LogoutIScsiTarget do while a volume of the target is mounted, and how long does it take?", askLogout},
		{26, "Do adding a portal and refreshing it contact it, and how long do they take when it does not answer?",
			askUnreachable},
	}
}

// startInitiator starts the service that all of iscsidsc.dll talks to.
func (q *inquiry) startInitiator() {
	q.Helper()
	if q.Initiator != nil {
		q.Initiator(q)
		return
	}
	if err := q.Kernel.StartService(initiatorService); !errors.Is(err, win32.ERROR_SERVICE_ALREADY_RUNNING) {
		q.check(err)
	}
	q.awaitService(initiatorService, win32.SERVICE_RUNNING)
}

// awaitService waits until a service has a state.
func (q *inquiry) awaitService(name string, state win32.ServiceState) {
	q.Helper()
	reached, err := q.pollUntil(func() (bool, error) {
		s, err := q.Kernel.QueryService(name)
		return s.State == state, err
	})
	if q.check(err); !reached {
		q.Fatal(fmt.Errorf("the service %s does not get to state %d", name, state))
	}
}

// timed returns the result of a call and its duration.
func timed(call func() error) string {
	start := time.Now()
	err := call()
	return fmt.Sprintf("%s in %v", verdict(err), time.Since(start).Round(time.Millisecond))
}

func askSecretLengths(q *inquiry) {
	q.startInitiator()
	if q.Initiator != nil { // a machine's
		q.check(MaySetCHAP())
	}
	answers := note(q, map[string]string{})
	for _, length := range []int{11, 12, 16, 17, 0} {
		secret := kernel.Secret(strings.Repeat("s", length))
		answers[fmt.Sprint(length)] = verdict(q.Kernel.SetISCSIInitiatorCHAPSharedSecret(secret))
	}
}

// target gives the node a target, and starts its initiator.
func (q *inquiry) target() Target {
	q.Helper()
	target := q.Target(q)
	q.startInitiator()
	return target
}

// refresh has the initiator ask a portal for its targets.
func (q *inquiry) refresh(portal []byte) error {
	return q.Kernel.RefreshISCSISendTargetPortal("", win32.ISCSI_ANY_INITIATOR_PORT, portal)
}

// removePortal makes the initiator forget a portal.
func (q *inquiry) removePortal(portal []byte) {
	_ = q.Kernel.RemoveISCSISendTargetPortal("", win32.ISCSI_ANY_INITIATOR_PORT, portal)
}

func askDiscovery(q *inquiry) {
	target, answers := q.target(), note(q, map[string]any{})
	for _, name := range []string{target.Address, "localhost"} {
		portal := win32.ISCSITargetPortal{Address: name, Socket: uint16(target.Port)}.Bytes()
		if err := q.Kernel.AddISCSISendTargetPortal(portal); err != nil {
			answers[name] = verdict(err)
			continue
		}
		refresh := timed(func() error { return q.refresh(portal) })
		portals, count, err := q.Kernel.ReportISCSITargetPortals(target.IQN)
		var addresses []string
		for i := range count {
			p, err := win32.ParseISCSITargetPortal(portals[i*win32.SizeofISCSITargetPortal:])
			q.check(err)
			addresses = append(addresses, fmt.Sprintf("%s:%d", p.Address, p.Socket))
		}
		mechanisms, mechanismErr := q.Kernel.ISCSIDiscoveryMechanisms(target.IQN)
		answers[name] = map[string]any{
			"refresh": refresh, "portals": addresses, "listing them": verdict(err),
			"mechanisms": mechanisms, "asking for them": verdict(mechanismErr),
		}
		q.removePortal(portal)
	}
}

func askLogout(q *inquiry) {
	target, answers := q.target(), note(q, map[string]string{})
	portal := win32.ISCSITargetPortal{Address: target.Address, Socket: uint16(target.Port)}.Bytes()
	q.check(q.Kernel.AddISCSISendTargetPortal(portal))
	q.Cleanup(func() { q.removePortal(portal) })
	q.check(q.refresh(portal))
	session, err := q.Kernel.LoginISCSITarget(kernel.ISCSILogin{
		Target: target.IQN, Portal: portal,
		InformationSpecified: win32.ISCSI_LOGIN_OPTIONS_AUTH_TYPE | win32.ISCSI_LOGIN_OPTIONS_USERNAME | win32.ISCSI_LOGIN_OPTIONS_PASSWORD,
		AuthType:             deviceside.ISCSI_CHAP_AUTH_TYPE, Username: target.User, Password: kernel.Secret(target.Secret),
	})
	q.check(err)
	logout := func() error { return q.Kernel.LogoutISCSITarget(session) }
	defer func() { _ = logout() }() // also if the question ends before
	const noNumber = 0xFFFFFFFF
	disk := win32.ISCSIDevice{Number: win32.StorageDeviceNumber{DeviceNumber: noNumber}}
	found, err := q.pollUntil(func() (bool, error) {
		devices, count, err := q.Kernel.DevicesForISCSISession(session)
		if err != nil && !errors.Is(err, win32.ISDSC_SESSION_BUSY) || count == 0 {
			return false, err
		}
		all, err := win32.ParseISCSIDevices(devices, 1)
		if err != nil {
			return false, err
		}
		disk = all[0]
		return disk.Number.DeviceNumber != noNumber, nil
	})
	if q.check(err); !found {
		q.Fatal("the target's disk has no number")
	}
	q.Disks.Add(disk.Number.DeviceNumber, machine.Identity{})
	answers["the new disk"] = fmt.Sprintf("%+v", disk)
	volume, _ := q.ntfsVolume(disk.Number.DeviceNumber)
	q.mount(volume)
	h := q.openVolume(volume)
	answers["with the volume open"] = timed(logout)
	_ = h.Close()
	answers["with the volume mounted"] = timed(logout)
}

func askUnreachable(q *inquiry) {
	q.startInitiator()
	answers := note(q, map[string]string{})
	for name, at := range map[string]win32.ISCSITargetPortal{
		"no machine": {Address: "192.0.2.1", Socket: 3260}, "closed port": {Address: "127.0.0.1", Socket: 3261},
		"no such name": {Address: "no-such-portal.invalid", Socket: 3260},
	} {
		portal := at.Bytes()
		answers[name+", add"] = timed(func() error { return q.Kernel.AddISCSISendTargetPortal(portal) })
		answers[name+", refresh"] = timed(func() error { return q.refresh(portal) })
		q.removePortal(portal)
	}
}
