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
}
