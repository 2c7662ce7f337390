// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/dial"
)

// TestClientExamples runs the examples of the client's documentation, which are in another module, against an agent.
func TestClientExamples(t *testing.T) {
	p := newAgentHome(t)
	p.pipes = "" // the examples know the usual names only
	p.start()
	examples := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-count=1", "-run=^Example", "-v", "./csiproxy")
	examples.Dir = filepath.Join("..", "..", "client")
	examples.Env = append(os.Environ(), dial.SocketDirVariable+"="+filepath.Join(p.dir, "run"))
	out, err := examples.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"--- PASS: Example ", "--- PASS: Example_errors", "--- PASS: ExampleClient_Connect"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("the output lacks %q:\n%s", want, out)
		}
	}
}
