// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"os"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// TestMain is also the program of the services that the tests make.
func TestMain(m *testing.M) {
	if ServedAsService() {
		os.Exit(0)
	}
	os.Exit(testnode.Main(m))
}
