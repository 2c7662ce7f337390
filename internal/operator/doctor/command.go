// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"fmt"
	"strings"
)

// An argument of a command is a name that was found on the node. Workloads make such names.
type argument struct {
	placeholder string // "PATH"
	name        string
}

const (
	word    = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.:_-"
	literal = word + `\{}?~#` // in single quotes, for PowerShell and POSIX shells; cmd.exe has no such quotes
)

// command returns a command line to paste, whose format has a %s for each argument: into PowerShell on Windows, where
// sc is Set-Content, and into a POSIX shell elsewhere. No quoting is safe in both: a name with other characters than
// these is left to the reader, who finds it in the evidence. Letters are ASCII only: code pages of Windows turn some
// others into quotes.
func command(format string, arguments ...argument) string {
	var words []any
	var hidden []string
	for _, a := range arguments {
		switch {
		case a.name == "" || a.name[0] == '-' || strings.Trim(a.name, literal) != "":
			words = append(words, a.placeholder)
			hidden = append(hidden, a.placeholder)
		case strings.Trim(a.name, word) != "":
			words = append(words, "'"+a.name+"'")
		default:
			words = append(words, a.name)
		}
	}
	line := fmt.Sprintf(format, words...)
	if len(hidden) > 0 {
		line += ", with " + strings.Join(hidden, " and ") +
			" from above, quoted for your shell: it has characters that shells interpret"
	}
	return line
}
