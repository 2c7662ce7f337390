// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"regexp"
	"strconv"
	"strings"
)

// process is how the server names a client that is a process.
var process = regexp.MustCompile(`^pid ([0-9]+)(?: (?:uid ([0-9]+)|(.+)))?$`)

// caller takes the name of a client apart: "pid 123 uid 0" or "pid 123 C:\driver.exe". Any other is kept as it is.
func (l *line) caller(client string) {
	m := process.FindStringSubmatch(client)
	if m == nil {
		l.Client = strings.ToValidUTF8(client, "\uFFFD")
		return
	}
	l.PID, _ = strconv.Atoi(m[1])
	if m[2] != "" {
		uid, _ := strconv.Atoi(m[2])
		l.UID = &uid
	}
	l.Image = strings.ToValidUTF8(m[3], "\uFFFD")
}

// clip keeps a text short.
func clip(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + "…"
}
