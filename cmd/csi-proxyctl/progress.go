// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// showProgress shows on a terminal, after a second, which command runs. The function that it returns clears the line.
func showProgress(c *cobra.Command) (stop func()) {
	to := c.ErrOrStderr()
	if !isTerminal(to) {
		return func() {}
	}
	shown := time.AfterFunc(time.Second, func() { _, _ = fmt.Fprintf(to, "\r%s goes on …", c.CommandPath()) })
	return func() {
		if !shown.Stop() {
			_, _ = io.WriteString(to, "\r\x1b[K")
		}
	}
}

// isTerminal reports whether a file is a terminal.
func isTerminal(file any) bool {
	f, ok := file.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
