// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/kernel"
	native "github.com/kubernetes-csi/csi-proxy/internal/kernel/windows"
	"github.com/kubernetes-csi/csi-proxy/internal/win32"
)

// nativeKernel returns this machine's kernel.
func nativeKernel() kernel.Kernel { return native.New() }

const initiatorService = "MSiSCSI"

// initiator returns this machine's kernel, or nil if the initiator's service does not run: without it there are no sessions.
func initiator() (kernel.Kernel, error) {
	k := nativeKernel()
	service, err := k.QueryService(initiatorService)
	if errors.Is(err, win32.ERROR_SERVICE_DOES_NOT_EXIST) {
		return nil, nil
	}
	if err != nil || service.State != win32.SERVICE_RUNNING {
		return nil, err
	}
	return k, nil
}

// removeLogin ends the sessions with a target that was made.
func removeLogin(_ context.Context, e Entry) error {
	if !isRandom(e.Name, "") {
		return NotOurs("the target's name is not a random one")
	}
	k, err := initiator()
	if k == nil {
		return err
	}
	list, err := k.ISCSISessionList()
	if err != nil {
		return err
	}
	sessions, err := win32.ParseISCSISessionList(list.Buffer, list.Base, list.Count)
	if err != nil {
		return err
	}
	var failures []error
	for _, s := range sessions {
		if strings.Contains(strings.ToLower(s.TargetName), e.Name) {
			failures = append(failures, k.LogoutISCSITarget(s.ID))
		}
	}
	return errors.Join(failures...)
}

// removePortal makes the initiator forget a portal that it did not know before.
func removePortal(_ context.Context, e Entry) error {
	k, err := initiator()
	if k == nil {
		if err == nil {
			err = fmt.Errorf("%s does not run", initiatorService) // the portal is in the registry
		}
		return err
	}
	list, count, err := k.ReportISCSISendTargetPortals()
	if err != nil {
		return err
	}
	portals, err := win32.ParseISCSITargetPortalInfos(list, count)
	if err != nil {
		return err
	}
	for _, p := range portals {
		if portalName(p.Portal) == e.Name {
			return k.RemoveISCSISendTargetPortal(p.InitiatorName, p.InitiatorPort, p.Portal.Bytes())
		}
	}
	return nil
}

// portalName is a portal's address and port.
func portalName(p win32.ISCSITargetPortal) string { return fmt.Sprintf("%s:%d", p.Address, p.Socket) }
