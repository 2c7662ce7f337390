// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// A document is the text of a page while it is written.
type document struct{ text strings.Builder }

// P writes the values as a line, without blanks between them.
func (d *document) P(values ...any) {
	for _, v := range values {
		_, _ = fmt.Fprint(&d.text, v) // a Builder takes everything
	}
	d.text.WriteByte('\n')
}

// String returns the text without empty lines at its end, and without the last line's break.
func (d *document) String() string { return strings.TrimRight(d.text.String(), "\n") }
