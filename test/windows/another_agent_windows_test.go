// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"bufio"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/testnode"
)

// stoppableTB is a test that may end early without ending this one.
type stoppableTB struct {
	testing.TB
	said string
}

func (e *stoppableTB) Fatal(args ...any) {
	e.said = fmt.Sprint(args...)
	runtime.Goexit()
}

// An agent that the tests did not start is not called: tests that need the machine's agent end before.
func TestAnotherAgentIsNotCalled(t *testing.T) {
	onlyWineOrThisMachine(t)
	other := exec.Command(testnode.Command(t, "csi-proxy-emulated"), "-state-dir="+t.TempDir())
	out, err := other.StdoutPipe()
	if err == nil {
		err = other.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = other.Process.Kill(), other.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); !strings.HasPrefix(line, "ready ") {
		t.Fatalf("the agent says %q, %v", line, err)
	}
	for how, want := range map[string]string{"child": "which these tests did not start",
		"in-process": "which these tests did not start", "service": "the service csiproxy"} {
		t.Setenv(testnode.AgentVariable, how)
		test, ended := &stoppableTB{TB: t}, make(chan struct{})
		go func() {
			defer close(ended)
			testnode.OnMachine(test)
		}()
		<-ended
		if !strings.Contains(test.said, want) {
			t.Errorf("%s: the test goes on, or ends with %q, want %q", how, test.said, want)
		}
	}
	_, _ = other.Process.Kill(), other.Wait()
	testnode.LaunchEmulated(t, "-state-dir="+t.TempDir())
	for _, pipe := range []string{`\\.\pipe\csiproxy-admin`, `\\.\pipe\csi-proxy-disk-v1`} {
		if err := testnode.NoOther(t, pipe); err != nil {
			t.Errorf("the tests' own agent: %v", err)
		}
	}
}
