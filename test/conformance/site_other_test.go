// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package conformance

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/testing/machine"
)

func windowsSite(t testing.TB) site {
	t.Helper()
	t.Fatal(machine.NodeVariable + " needs Windows")
	return nil
}
