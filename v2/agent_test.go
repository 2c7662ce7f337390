// SPDX-License-Identifier: Apache-2.0

package v2_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/v2/internal/machine"
)

// overAgent are the tests of this package whose driver calls New, each with an agent of its own, one after the other.
var overAgent = []string{"TestVolumeLife", "TestShareLife", "TestTargetLife", "TestSystem", "TestReadOnlyOverAClient"}

// TestOverAgent runs a driver's lives once more, in a process whose environment makes New the node of an agent, on the
// pipes or sockets that clients open by default.
func TestOverAgent(t *testing.T) {
	program, err := os.Executable()
	must(t, "finding this program", err)
	tests := exec.CommandContext(t.Context(), program, "-test.v", "-test.run=^("+strings.Join(overAgent, "|")+")$")
	tests.Env = append(os.Environ(), machine.HostAPIVariable+"=agent")
	out, err := tests.CombinedOutput()
	for _, name := range overAgent {
		if !strings.Contains(string(out), "--- PASS: "+name+" ") {
			t.Errorf("%s did not pass", name)
		}
	}
	if err != nil || t.Failed() {
		t.Fatalf("over the agent: %v\n%s", err, out)
	}
}
