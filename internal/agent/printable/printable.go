// SPDX-License-Identifier: Apache-2.0

// Package printable shows texts from outside, such as names of files: they neither steer a terminal nor deceive.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// First returns how the first character of a text is shown, and its length in the text.
func First(text string) (shown string, size int) {
	r, size := utf8.DecodeRuneInString(text)
	switch {
	case r == utf8.RuneError && size == 1:
		return fmt.Sprintf("<%02X>", text[0]), size
	case !unicode.IsPrint(r):
		return fmt.Sprintf("<U+%04X>", r), size
	}
	return text[:size], size
}

// Clip returns a text as valid UTF-8 of bounded length, in bytes.
func Clip(text string, limit int) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
