// SPDX-License-Identifier: Apache-2.0

// Package terminal shows texts that came from outside, such as names of files, devices and servers, on a terminal: they
// neither steer it nor look like other texts.
package terminal

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/printable"
)

// Text returns a text with the numbers of characters that do not print, <U+202E>, and of bytes that are not UTF-8,
// <FF>. Tabs and line ends stay.
func Text(text string) string {
	var b strings.Builder
	for text != "" {
		shown, size := printable.First(text)
		if text[0] == '\t' || text[0] == '\n' {
			shown = text[:1]
		}
		b.WriteString(shown)
		text = text[size:]
	}
	return b.String()
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
