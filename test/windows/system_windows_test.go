// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/winservice"
	"github.com/kubernetes-csi/csi-proxy/internal/emulated/machine"
)

// AsSystem runs a command as SYSTEM, by a service that ends with it, and waits. Its output is lost.
func AsSystem(t testing.TB, command ...string) error {
	t.Helper()
	name := machine.RandomName()
	if err := newService(t, name, "", command...); err != nil {
		return err
	}
	m, err := winservice.Connect()
	if err != nil {
		return err
	}
	defer func() { _ = m.Close() }()
	if err := m.Start(name); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		s, err := m.Query(name)
		if err != nil {
			return err
		}
		if s.State == winservice.Stopped {
			if s.SpecificExitCode != 0 || s.ExitCode != 0 {
				return fmt.Errorf("%q as SYSTEM: %s", command, s.Exit())
			}
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return fmt.Errorf("%q as SYSTEM does not end: %w", command, context.Cause(ctx))
		}
	}
}
