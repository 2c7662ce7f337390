// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/win32"
	"github.com/kubernetes-csi/csi-proxy/internal/agent/winservice"
	"github.com/kubernetes-csi/csi-proxy/internal/testing/machine"
)

// AsSystem runs a command as SYSTEM, by a service that ends with it, and waits. Its output is lost.
func AsSystem(t testing.TB, command ...string) error {
	t.Helper()
	name := machine.RandomName()
	if err := newService(t, name, "", command...); err != nil {
		return err
	}
	return withServices(func(m winservice.Manager) error {
		if err := m.Start(name); err != nil {
			return err
		}
		var s winservice.Installed
		ended, err := Subject{Timeout: time.Minute}.pollUntil(func() (_ bool, err error) {
			s, err = m.Query(name)
			return s.State == win32.SERVICE_STOPPED, err
		})
		switch {
		case err != nil:
			return err
		case !ended:
			return fmt.Errorf("%q as SYSTEM does not end", command)
		case s.SpecificExitCode != 0 || s.ExitCode != 0:
			return fmt.Errorf("%q as SYSTEM: %s", command, s.Exit())
		}
		return nil
	})
}
