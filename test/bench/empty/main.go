// SPDX-License-Identifier: Apache-2.0

// Command empty does what no Go program can do without: it starts, says so, and ends with its standard input. What it takes
// is what the system and Go's runtime take.
package main

import (
	"io"
	"os"
)

func main() {
	_, _ = os.Stdout.WriteString("ready\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
}
