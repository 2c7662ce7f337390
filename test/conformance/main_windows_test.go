// SPDX-License-Identifier: Apache-2.0

package conformance

import (
	"os"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
	"github.com/kubernetes-csi/csi-proxy/test/windows"
)

// TestMain is also the program of the services that the tests make.
func TestMain(m *testing.M) {
	if windows.ServedAsService() {
		os.Exit(0)
	}
	os.Exit(testnode.Main(m))
}
