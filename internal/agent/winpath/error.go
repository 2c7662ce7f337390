// SPDX-License-Identifier: Apache-2.0

package winpath

import (
	"fmt"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/agent/printable"
)

// Error is the refusal of a path, name or volume id, with its cause.
type Error struct {
	Path    string // as the caller gave it
	Problem string
}

// Error returns a text that begins with the path, made safe for a log, unless that is empty.
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Problem
	}
	return fmt.Sprintf("path %s: %s", Quote(e.Path), e.Problem)
}

func refuse(path, format string, args ...any) error {
	return &Error{Path: path, Problem: fmt.Sprintf(format, args...)}
}

// maxQuoted is the number of characters that Quote shows.
const maxQuoted = 200

// Quote returns a caller's text in quotation marks and on one line, at most 200 characters of it. Backslashes stay
// single, as people write paths. Characters that do not print, quotation marks and angle brackets are shown by their
// number, <U+000A>, and so are bytes that are not UTF-8, <FF>.
func Quote(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	shown := 0
	for rest := text; rest != ""; shown++ {
		if shown == maxQuoted {
			fmt.Fprintf(&b, `"… (%d bytes)`, len(text))
			return b.String()
		}
		one, size := printable.First(rest)
		if strings.ContainsRune(`"<>`, rune(rest[0])) {
			one = fmt.Sprintf("<U+%04X>", rest[0])
		}
		b.WriteString(one)
		rest = rest[size:]
	}
	b.WriteByte('"')
	return b.String()
}
