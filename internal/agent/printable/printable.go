// SPDX-License-Identifier: Apache-2.0

// Package printable shows texts that came from outside, such as names of files, devices and servers. They neither
// steer a terminal nor look like other texts.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns a text with the numbers of characters that do not print, <U+202E>, and of bytes that are not UTF-8,
// <FF>. Tabs and line ends stay.
func Text(text string) string {
	var b strings.Builder
	for text != "" {
		shown, size := First(text)
		if text[0] == '\t' || text[0] == '\n' {
			shown = text[:1]
		}
		b.WriteString(shown)
		text = text[size:]
	}
	return b.String()
}

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

// Line returns a text on one line, without what would control a terminal: U+FFFD stands for what does not print.
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return utf8.RuneError
	}, text)
}

// Clip returns a text as valid UTF-8 of bounded length, in bytes.
func Clip(text string, limit int) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
