// SPDX-License-Identifier: Apache-2.0

// Package printable shows texts from outside, such as names of files: they neither steer a terminal nor deceive.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
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

// JSON returns a JSON text in which JSON's own escapes stand for characters that a terminal would obey or hide, such
// as U+009B and U+202E. Outside of ASCII only strings have such characters. Line ends stay: between values they are
// layout.
func JSON(text []byte) []byte {
	shown := make([]byte, 0, len(text))
	for _, r := range string(text) {
		switch {
		case unicode.IsPrint(r) || r == '\n':
			shown = utf8.AppendRune(shown, r)
		case r > 0xFFFF:
			high, low := utf16.EncodeRune(r)
			shown = fmt.Appendf(shown, `\u%04x\u%04x`, high, low)
		default:
			shown = fmt.Appendf(shown, `\u%04x`, r)
		}
	}
	return shown
}

// Clip returns a text as valid UTF-8 of bounded length, in bytes.
func Clip(text string, limit int) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "…"
}
