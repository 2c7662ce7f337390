// SPDX-License-Identifier: Apache-2.0

package setting

import (
	"fmt"
	"math/big"
	"strings"
	"testing"
)

func TestParseSize(t *testing.T) {
	for text, want := range map[string]int64{
		"1B": 1, "10GiB": 10 << 30, "10 GiB": 10 << 30, "10Gi": 10 << 30, "1.5KiB": 1536, "16TiB": 16 << 40, "512Mi": 512 << 20,
		"": 0, "1": 0, "GiB": 0, ".5GiB": 0, "-1GiB": 0, "1GB": 0, "1gib": 0, "16.1TiB": 0, "17TiB": 0, "0GiB": 0, "1.1B": 0, "1..5GiB": 0,
		"1  GiB": 0, "10000000000000000000000000B": 0, "99999999999999999999TiB": 0, "1e3MiB": 0, "1/2GiB": 0, "1GiB ": 0,
	} {
		if got, ok := parseSize(text); got != want || ok != (want > 0) {
			t.Errorf("%q: got %d, %v, want %d", text, got, ok, want)
		}
	}
}

func FuzzParseSize(f *testing.F) {
	for _, text := range []string{"1.5GiB", "10 Mi", "16TiB", "4096B", "1..5GiB", "0.0000000001TiB"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, ok := parseSize(text)
		if !ok {
			return
		}
		if n < 1 || n > MaxSize {
			t.Errorf("%q is %d bytes", text, n)
		}
		if again, ok := parseSize(fmt.Sprintf("%dB", n)); !ok || again != n {
			t.Errorf("%q is %d bytes, which are read as %d, %v", text, n, again, ok)
		}
		digits := text[:strings.LastIndexAny(text, "0123456789.")+1]
		if _, ok := new(big.Rat).SetString(digits); !ok {
			t.Errorf("%q is taken for a number", digits)
		}
	})
}
