// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"fmt"
	"os"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/windows"
)

// TestMain is also the program of the services that the tests make.
func TestMain(m *testing.M) {
	if windows.ServedAsService() {
		os.Exit(0)
	}
	code := testnode.Main(m)
	if err := windows.RemoveAccount(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}
