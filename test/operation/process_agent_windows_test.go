// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// fails runs an agent with arguments with which it cannot start, and returns its exit code and output.
func fails(t *testing.T, program string, args ...string) (code int, stderr string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), testnode.Command(t, program), args...)
	var text strings.Builder
	c.Stderr = &text
	exit := (*exec.ExitError)(nil)
	if err := c.Run(); !errors.As(err, &exit) {
		t.Fatalf("%s %s: got %v, want that it fails", program, strings.Join(args, " "), err)
	}
	return exit.ExitCode(), text.String()
}
