// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/test/testnode"
)

// fails runs the agent with arguments with which it cannot start, and returns its exit code and output.
func fails(t *testing.T, args ...string) (code int, stderr string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), testnode.Command(t, "csi-proxy"), args...)
	var text strings.Builder
	c.Stderr = &text
	exit := (*exec.ExitError)(nil)
	if err := c.Run(); !errors.As(err, &exit) {
		t.Fatalf("csi-proxy %s: got %v, want that it fails", strings.Join(args, " "), err)
	}
	return exit.ExitCode(), text.String()
}
