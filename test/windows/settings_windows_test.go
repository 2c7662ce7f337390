// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"os"
	"testing"
)

// TestRestoreSettings is what run.ps1 -Clean runs: it gives the machine the settings that a killed run has changed.
func TestRestoreSettings(t *testing.T) {
	if os.Getenv("CSI_PROXY_TEST_CLEAN") == "" {
		t.Skip("require CSI_PROXY_TEST_CLEAN: this restores settings of this machine that are written down")
	}
	if err := restoreAll(); err != nil {
		t.Error(err)
	}
}
