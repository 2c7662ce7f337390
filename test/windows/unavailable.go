// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"fmt"
	"os"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/winservice"
)

// CHAPVariable names the environment variable by which the owner of a machine allows tests to set and clear the
// initiator's secret for mutual CHAP.
const CHAPVariable = "CSI_PROXY_PROVE_CHAP"

// MaySetCHAP returns an Unavailable unless the owner of this machine has allowed to replace the initiator's secret for
// mutual CHAP. Whether one was set in advance cannot be found out: iscsidsc.dll, VDS and WMI have functions that set or
// clear it, and none that reads it.
// https://learn.microsoft.com/windows/win32/api/iscsidsc/nf-iscsidsc-setiscsiinitiatorchapsharedsecret
func MaySetCHAP() error {
	if os.Getenv(CHAPVariable) != "" {
		return nil
	}
	return Unavailable("the initiator's secret for mutual CHAP cannot be read and would be lost: " +
		"use -chap (" + CHAPVariable + "=1) to set one, which is cleared afterwards")
}

// mayStart returns an Unavailable for a stopped service that does not start manually: its effect at a start, such as
// logging in to targets, is unknown.
func mayStart(what string, state winservice.State, start winservice.StartType) error {
	if state != winservice.Running && start != winservice.Manual {
		return Unavailable(fmt.Sprintf("the %s of this machine is stopped, and its service does not start manually; "+
			"start it first", what))
	}
	return nil
}

// hasNoForeignTargets returns an Unavailable if a target server has targets that the tests did not make.
func hasNoForeignTargets(hosts []string) error {
	for _, name := range hosts {
		if !isRandom(name, "") {
			return Unavailable("the iSCSI target server of this machine has targets that the tests did not make")
		}
	}
	return nil
}
