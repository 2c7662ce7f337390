// SPDX-License-Identifier: Apache-2.0

// Package redact takes secrets out of texts that a person may publish.
package redact

import (
	"regexp"
	"sync"
)

// removed stands for a secret.
const removed = "[removed]"

// secrets returns the forms in which logs and command lines hold secrets. The first group is kept, the rest goes.
var secrets = sync.OnceValue(func() []*regexp.Regexp {
	return []*regexp.Regexp{
		regexp.MustCompile(`(?s)()-----BEGIN [A-Z ]*PRIVATE KEY-----.*?-----END [A-Z ]*PRIVATE KEY-----`),
		// "password":"…", and a number, list or object of one line.
		regexp.MustCompile(`(?i)("[a-z0-9_.-]*` + names +
			`[a-z0-9_.-]*"\s*:\s*)(?:"(?:[^"\\]|\\.)*"|\[[^\]\n]*\]?|\{[^}\n]*\}?|[^\s",\]}]+)`),
		// JSON within JSON, whose quotes are escaped: the rest of the line, since what ends the value depends on how deep it
		// is.
		regexp.MustCompile(`(?i)("[a-z0-9_.-]*` + names + `[a-z0-9_.-]*\\+"\s*:).*`),
		// password=…, AccountKey=…;, --password …, -Password '…', secret: …
		regexp.MustCompile(`(?i)(\b[a-z0-9_.-]*` + names + `[a-z0-9_.-]*\s*[=:]\s*)(?:"(?:[^"\\]|\\.)*"|'[^']*'|[^\s"']+)`),
		regexp.MustCompile(`(?i)((?:^|\s)--?[a-z-]*` + names + `\s+)(?:"[^"]*"|'[^']*'|\S+)`),
		regexp.MustCompile(`(?i)(ConvertTo-SecureString).*`),
		// Bearer and basic tokens, and what signs the address of a blob.
		regexp.MustCompile(`(?i)(\b(?:bearer|basic)\s+)[a-z0-9._~+/=-]{8,}`),
		regexp.MustCompile(`(?i)([?&](?:sig|signature|x-amz-signature|x-amz-security-token)=)[^&\s"']+`),
		// user:password@host
		regexp.MustCompile(`([a-z][a-z0-9+.-]*://[^/\s:@]+:)[^/\s@]+@`),
		// The key of a storage account: 64 bytes in base 64.
		regexp.MustCompile(`()\b[A-Za-z0-9+/]{86}==`),
	}
})

// names are the parts of names that stand for secrets. A file with a secret is none: --password-file is kept.
const names = `(?:passw(?:or)?d|passphrase|pwd|secret|token|account_?key|access_?key|shared_?key|api_?key|credential)`

// WithoutSecrets returns a text, such as a log, without what looks like a secret. It takes away too much rather than
// too little.
func WithoutSecrets(text string) string {
	for _, form := range secrets() {
		text = form.ReplaceAllString(text, "${1}"+removed)
	}
	return text
}
