// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"fmt"
	"os"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// TestMain is also the program of the services that the tests make.
func TestMain(m *testing.M) {
	if ServedAsService() {
		os.Exit(0)
	}
	code := testnode.Main(m)
	if err := RemoveAccount(); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}
