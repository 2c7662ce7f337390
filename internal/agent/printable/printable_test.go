// SPDX-License-Identifier: Apache-2.0

package printable

import (
	"encoding/json"
	"testing"
	"unicode"
)

// A program reads the same from JSON, and a terminal shows all of it.
func TestJSON(t *testing.T) {
	const text = "r\u202Egpj.exe \x1b[0m\u200B\U000E0041 \u009b\u00a0ä<\t\n"
	plain, err := json.MarshalIndent(map[string]string{"name": text}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	shown := JSON(plain)
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
