// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
)

// check ends a test at an error, and skips one that a machine is unavailable for.
func check(t testing.TB, err error) {
	t.Helper()
	if missing := Unavailable(""); errors.As(err, &missing) {
		t.Skip(missing)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// mayStart returns an Unavailable for a stopped service that does not start manually: its effect at a start, such as
// logging in to targets, is unknown.
func mayStart(what string, state win32.ServiceState, start win32.ServiceStart) error {
	if state != win32.SERVICE_RUNNING && start != win32.SERVICE_DEMAND_START {
		return Unavailable(fmt.Sprintf("the %s of this machine is stopped, and its service does not start manually; "+
			"start it first", what))
	}
	return nil
}

// hasNoForeignTargets returns an Unavailable if a target server has targets that the tests did not make.
func hasNoForeignTargets(hosts []string) error {
	for _, name := range hosts {
		if !strings.HasPrefix(name, namePrefix) {
			return Unavailable("the iSCSI target server of this machine has targets that the tests did not make")
		}
	}
	return nil
}
