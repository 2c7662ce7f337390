// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// TestDoctorOnThisMachine: with an agent that works on the machine itself, doctor comes to an end, finds the agent's
// endpoints in order, and names what it could not look at, whatever the machine cannot do.
func TestDoctorOnThisMachine(t *testing.T) {
	testnode.Launch(t)
	out, err := exec.CommandContext(t.Context(), testnode.Command(t, "csi-proxyctl"), "doctor", "-o", "json").Output()
	if exit := (*exec.ExitError)(nil); err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatalf("doctor: %v", err)
	}
	t.Logf("%s", out)
	var report struct {
		Findings []struct{ Check, What string }
		Missing  []string
	}
	if err := json.Unmarshal(out, &report); err != nil {
		t.Fatalf("%v in %q", err, out)
	}
	for _, f := range report.Findings {
		switch f.Check {
		case "no-answer":
			if strings.HasPrefix(f.What, "Windows does not say") { // Wine cannot list disks
				continue
			}
			fallthrough
		case "no-agent", "access-denied", "silent-endpoint", "broken-endpoint", "group-off", "old-version":
			t.Errorf("doctor found %s: %s", f.Check, f.What)
		}
	}
}
