// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/kernel"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/machine"
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
func startInitiator(t testing.TB, s Subject) error {
	t.Helper()
	if s.Initiator != nil {
		return s.Initiator(t)
	}
	if err := s.Kernel.StartService(initiatorService); err != nil && !errors.Is(err, win32.ERROR_SERVICE_ALREADY_RUNNING) {
		return err
	}
	running, err := s.pollUntil(func() (bool, error) {
		info, err := s.Kernel.QueryService(initiatorService)
		return info.State == win32.SERVICE_RUNNING, err
	})
	if err == nil && !running {
		err = errors.New(initiatorService + " does not start")
	}
	return err
}

// timed returns the result of a call and its duration.
func timed(call func() error) string {
	start := time.Now()
	err := call()
	return fmt.Sprintf("%s in %v", verdict(err), time.Since(start).Round(time.Millisecond))
}

func askSecretLengths(t testing.TB, s Subject) (any, error) {
	if err := startInitiator(t, s); err != nil {
		return nil, err
	}
	if s.Initiator != nil { // a machine's
		if err := MaySetCHAP(); err != nil {
			return nil, err
		}
	}
	answers := map[string]string{}
	for _, length := range []int{11, 12, 16, 17, 0} {
		secret := kernel.Secret(strings.Repeat("s", length))
		answers[fmt.Sprint(length)] = verdict(s.Kernel.SetISCSIInitiatorCHAPSharedSecret(secret))
	}
	return answers, nil
}

func askDiscovery(t testing.TB, s Subject) (any, error) {
	target, err := s.Target(t)
	if err != nil {
		return nil, err
	}
	if err := startInitiator(t, s); err != nil {
		return nil, err
	}
	answers := map[string]any{}
	for _, name := range []string{target.Address, "localhost"} {
		portal := win32.ISCSITargetPortal{Address: name, Socket: uint16(target.Port)}.Bytes()
		if err := s.Kernel.AddISCSISendTargetPortal(portal); err != nil {
			answers[name] = verdict(err)
			continue
		}
		refresh := timed(func() error {
			return s.Kernel.RefreshISCSISendTargetPortal("", win32.ISCSI_ANY_INITIATOR_PORT, portal)
		})
		portals, count, err := s.Kernel.ReportISCSITargetPortals(target.IQN)
		var addresses []string
		for i := range count {
			p, err := win32.ParseISCSITargetPortal(portals[i*win32.SizeofISCSITargetPortal:])
			if err != nil {
				return answers, err
			}
			addresses = append(addresses, fmt.Sprintf("%s:%d", p.Address, p.Socket))
		}
		mechanisms, mechanismErr := s.Kernel.ISCSIDiscoveryMechanisms(target.IQN)
		answers[name] = map[string]any{
			"refresh": refresh, "portals": addresses, "listing them": verdict(err),
			"mechanisms": mechanisms, "asking for them": verdict(mechanismErr),
		}
		_ = s.Kernel.RemoveISCSISendTargetPortal("", win32.ISCSI_ANY_INITIATOR_PORT, portal)
	}
	return answers, nil
}

// numbered is a disk that is known only by its number.
type numbered uint32

func (n numbered) Number() uint32 { return uint32(n) }

func (numbered) Grow(int64) (string, error) { return "", Unavailable("another system's disk") }

func (numbered) Write(int64, []byte) error { return Unavailable("another system's disk") }

func (numbered) Detach() error { return Unavailable("another system's disk") }

func (numbered) Attach() error { return Unavailable("another system's disk") }

func askLogout(t testing.TB, s Subject) (any, error) {
	target, err := s.Target(t)
	if err != nil {
		return nil, err
	}
	if err := startInitiator(t, s); err != nil {
		return nil, err
	}
	portal := win32.ISCSITargetPortal{Address: target.Address, Socket: uint16(target.Port)}.Bytes()
	if err := s.Kernel.AddISCSISendTargetPortal(portal); err != nil {
		return nil, err
	}
	t.Cleanup(func() { _ = s.Kernel.RemoveISCSISendTargetPortal("", win32.ISCSI_ANY_INITIATOR_PORT, portal) })
	if err := s.Kernel.RefreshISCSISendTargetPortal("", win32.ISCSI_ANY_INITIATOR_PORT, portal); err != nil {
		return nil, err
	}
	session, err := s.Kernel.LoginISCSITarget(kernel.ISCSILogin{
		Target: target.IQN, Portal: portal,
		InformationSpecified: win32.ISCSI_LOGIN_OPTIONS_AUTH_TYPE | win32.ISCSI_LOGIN_OPTIONS_USERNAME | win32.ISCSI_LOGIN_OPTIONS_PASSWORD,
		AuthType:             win32.ISCSI_CHAP_AUTH_TYPE, Username: target.User, Password: kernel.Secret(target.Secret),
	})
	if err != nil {
		return nil, err
	}
	const noNumber = 0xFFFFFFFF
	disk := win32.ISCSIDevice{Number: win32.StorageDeviceNumber{DeviceNumber: noNumber}}
	found, err := s.pollUntil(func() (bool, error) {
		devices, count, err := s.Kernel.DevicesForISCSISession(session)
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
	if err == nil && !found {
		err = errors.New("the target's disk has no number")
	}
	if err != nil {
		return nil, errors.Join(err, s.Kernel.LogoutISCSITarget(session))
	}
	disk.InitiatorName = "" // the machine's
	s.Disks.Add(disk.Number.DeviceNumber, machine.Identity{})
	answers := map[string]string{"the new disk": fmt.Sprintf("%+v", disk)}
	volume, _, err := formatted(s, numbered(disk.Number.DeviceNumber))
	if err != nil {
		return answers, errors.Join(err, s.Kernel.LogoutISCSITarget(session))
	}
	at, err := mountPoint(s)
	if err != nil {
		return answers, err
	}
	if err := s.Kernel.SetVolumeMountPoint(at, volume); err != nil {
		return answers, err
	}
	t.Cleanup(func() { _ = s.Kernel.DeleteVolumeMountPoint(at) })
	h, err := s.Kernel.OpenDevice(strings.TrimSuffix(volume, `\`), readWrite)
	if err != nil {
		return answers, err
	}
	answers["with the volume open"] = timed(func() error { return s.Kernel.LogoutISCSITarget(session) })
	_ = h.Close()
	answers["with the volume mounted"] = timed(func() error { return s.Kernel.LogoutISCSITarget(session) })
	return answers, nil
}

func askUnreachable(t testing.TB, s Subject) (any, error) {
	if err := startInitiator(t, s); err != nil {
		return nil, err
	}
	answers := map[string]string{}
	for name, at := range map[string]win32.ISCSITargetPortal{
		"no machine": {Address: "192.0.2.1", Socket: 3260}, "closed port": {Address: "127.0.0.1", Socket: 3261},
		"no such name": {Address: "no-such-portal.invalid", Socket: 3260},
	} {
		portal := at.Bytes()
		answers[name+", add"] = timed(func() error { return s.Kernel.AddISCSISendTargetPortal(portal) })
		answers[name+", refresh"] = timed(func() error {
			return s.Kernel.RefreshISCSISendTargetPortal("", win32.ISCSI_ANY_INITIATOR_PORT, portal)
		})
		_ = s.Kernel.RemoveISCSISendTargetPortal("", win32.ISCSI_ANY_INITIATOR_PORT, portal)
	}
	return answers, nil
}
