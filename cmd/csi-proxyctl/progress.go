// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
)

// showProgress shows on a terminal, after a second, what is going on and for how long. The function that
// it returns ends the display and clears the line.
func showProgress(to io.Writer, doing string) (stop func()) {
	if doing == "" || !isTerminal(to) {
		return func() {}
	}
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		begin := time.Now()
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		shown := false
		for turn := 0; ; turn++ {
			select {
			case <-quit:
				if shown {
					_, _ = io.WriteString(to, "\r\x1b[K")
				}
				return
			case <-tick.C:
			}
			if took := time.Since(begin); took >= time.Second {
				shown = true
				_, _ = fmt.Fprintf(to, "\r\x1b[K%c %s, %d s", `|/-\`[turn%4], doing, int(took.Seconds()))
			}
		}
	}()
	return func() { close(quit); <-ended }
}

// isTerminal reports whether a file is a terminal.
func isTerminal(file any) bool {
	f, ok := file.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
