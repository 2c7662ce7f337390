// SPDX-License-Identifier: Apache-2.0

package servicewords

import "testing"

func TestWords(t *testing.T) {
	for name, words := range map[string]Words{"start modes": StartModes(), "states": States()} {
		for i, word := range words {
			if got := words.Number(word); got != uint32(i) || words.Of(got) != word {
				t.Errorf("%s: %q is %d", name, word, got)
			}
		}
		if words.Number("nonsense") != 0 || words.Of(uint32(len(words))) != "" {
			t.Errorf("%s: an unknown word or number has a meaning", name)
		}
	}
	if start, state := StartModes().Of(3), States().Of(1); start != "Manual" || state != "Stopped" { // those of WMI
		t.Errorf("got %q and %q", start, state)
	}
}
