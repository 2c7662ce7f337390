// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"os"
)

// colour is a colour of the terminal, as ECMA-48 numbers it.
type colour string

const (
	red    colour = "31"
	green  colour = "32"
	yellow colour = "33"
	cyan   colour = "36"
)

// paint returns a text in a colour if what it is written to shows colours: a terminal, unless NO_COLOR is set or TERM
// is dumb, and whatever CLICOLOR_FORCE says must be coloured.
func paint(to any, c colour, text string) string {
	force := os.Getenv("CLICOLOR_FORCE")
	switch {
	case os.Getenv("NO_COLOR") != "", c == "", to == io.Discard:
		return text
	case force != "" && force != "0":
	case os.Getenv("TERM") == "dumb" || os.Getenv("CLICOLOR") == "0" || !isTerminal(to) || !understandsColours(to):
		return text
	}
	return "\x1b[" + string(c) + "m" + text + "\x1b[0m"
}
