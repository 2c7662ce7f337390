// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package conformance

import "testing"

func windowsSite(t testing.TB) site {
	t.Helper()
	t.Fatalf("%s=windows needs Windows", siteVariable)
	return nil
}
