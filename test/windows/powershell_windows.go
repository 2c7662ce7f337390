// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// PowerShell runs a script and returns its output. It prepares what has no other interface, and it is asked for the
// machine's own view, independently of the agent, which never uses it. Texts that the script is not to quote go into
// environment variables.
func PowerShell(ctx context.Context, script string, env ...string) (string, error) {
	command := exec.CommandContext(ctx, "powershell.exe", "-NoProfile", "-NonInteractive", "-Command", "-")
	command.Env = append(PowerShellEnviron(), env...)
	// Read from standard input, a block needs its own empty line; the failure of any cmdlet fails the script.
	command.Stdin = strings.NewReader("$ErrorActionPreference = 'Stop'; $ProgressPreference = 'SilentlyContinue'; try { " +
		strings.ReplaceAll(script, "\n", " ; ") + " } catch { [Console]::Error.WriteLine($_.ToString()); exit 1 }\n\n")
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	if err := command.Run(); err != nil {
		return "", fmt.Errorf("PowerShell: %w: %s", err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(stdout.String()), nil
}
