// SPDX-License-Identifier: Apache-2.0

// Command empty does only what every Go program must do: it starts, prints that it has, and ends with its standard
// input. Its figures are the share of the system and of Go's runtime.
package main

import (
	"io"
	"os"
)

func main() {
	_, _ = os.Stdout.WriteString("ready\n")
	_, _ = io.Copy(io.Discard, os.Stdin)
}
