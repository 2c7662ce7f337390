// SPDX-License-Identifier: Apache-2.0

package transcript

import (
	"fmt"
	"regexp"
	"strings"
)

const (
	guid     = `[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`
	session  = `\bffff[0-9a-f]{12}-[0-9a-f]{16}\b` // of iSCSI
	instance = `\b[0-9a-f]{16}&\d+&\d{6}`          // of a device, in its interface's name
	moved    = `\bcsi-proxy-[A-Z2-7]{26}\b`        // a file that is about to be removed
)

// untimed replaces durations in an error's message: how long others have been hanging.
func untimed(message string) string {
	return regexp.MustCompile(`\b(?:\d+h)?(?:\d+m)?\d+(?:\.\d+)?(?:ns|µs|ms|s)\b`).ReplaceAllString(message, "<duration>")
}

// stable replaces names that differ from run to run by placeholders, numbered in the order in which they appear: the
// same volume has the same number throughout a text. Times and durations are not in it.
func stable(text string) string {
	names := map[string]string{}
	counts := map[string]int{}
	number := func(kind, what string) string {
		key := kind + strings.ToLower(what)
		if names[key] == "" {
			counts[kind]++
			names[key] = fmt.Sprintf("<%s %d>", kind, counts[kind])
		}
		return names[key]
	}
	varying := regexp.MustCompile(`(?P<volume>Volume\{` + guid + `\})|(?P<guid>` + guid + `)|(?P<session>` + session +
		`)|(?P<instance>` + instance + `)|(?P<file>` + moved + `)`)
	kinds := varying.SubexpNames()
	var out strings.Builder
	end := 0
	for _, at := range varying.FindAllStringSubmatchIndex(text, -1) {
		out.WriteString(text[end:at[0]])
		end = at[1]
		for i, kind := range kinds {
			if i > 0 && at[2*i] >= 0 {
				out.WriteString(number(kind, text[at[0]:at[1]]))
			}
		}
	}
	return out.String() + text[end:]
}
