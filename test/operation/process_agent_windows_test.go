// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// fails runs the agent with arguments that it cannot start with, and returns its exit code and what it wrote.
func fails(t *testing.T, args ...string) (code int, stderr string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), command("csi-proxy"), args...)
	var text strings.Builder
	c.Stderr = &text
	exit := (*exec.ExitError)(nil)
	if err := c.Run(); !errors.As(err, &exit) {
		t.Fatalf("csi-proxy %s: got %v, want that it fails", strings.Join(args, " "), err)
	}
	return exit.ExitCode(), text.String()
}

// logged is what the agent wrote, after its end.
func (a *agentProcess) logged(t *testing.T) string {
	t.Helper()
	<-a.ended
	content, err := os.ReadFile(a.log)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
