// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"

	"golang.org/x/sys/windows"
)

// understandsColours reports whether a console obeys escape sequences, which Windows Server's own does only when it is
// asked to.
func understandsColours(to any) bool {
	f, ok := to.(*os.File)
	if !ok {
		return false
	}
	console, mode := windows.Handle(f.Fd()), uint32(0)
	if err := windows.GetConsoleMode(console, &mode); err != nil {
		return false
	}
	return windows.SetConsoleMode(console, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
