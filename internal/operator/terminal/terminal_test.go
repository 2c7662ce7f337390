// SPDX-License-Identifier: Apache-2.0

package terminal_test

import (
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/operator/terminal"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"":                        "",
		"C:\\a b\tä世\n":           "C:\\a b\tä世\n",
		"r\u202Egpj.exe":          "r<U+202E>gpj.exe",
		"\u2066a\u2069\u200B":     "<U+2066>a<U+2069><U+200B>",
		"\x1b[31m\r\x00\x7f":      "<U+001B>[31m<U+000D><U+0000><U+007F>",
		"\u009b31m\U000E0041\xff": "<U+009B>31m<U+E0041><FF>",
	} {
		if got := terminal.Text(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}
