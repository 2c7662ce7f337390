// SPDX-License-Identifier: Apache-2.0

package printable_test

import (
	"encoding/json"
	"testing"
	"unicode"

	"github.com/kubernetes-csi/csi-proxy/internal/printable"
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
		if got := printable.Text(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// A program reads the same from JSON, and a terminal shows all of it.
func TestJSON(t *testing.T) {
	const text = "r\u202Egpj.exe \x1b[0m\u200B\U000E0041 \u009b\u00a0ä<\t\n"
	plain, err := json.MarshalIndent(map[string]string{"name": text}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	shown := printable.JSON(plain)
	for _, r := range string(shown) {
		if !unicode.IsPrint(r) && r != '\n' {
			t.Errorf("%U is in %s", r, shown)
		}
	}
	var got map[string]string
	if err := json.Unmarshal(shown, &got); err != nil || got["name"] != text {
		t.Errorf("got %q, %v", got, err)
	}
}
