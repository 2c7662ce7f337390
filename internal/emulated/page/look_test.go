// SPDX-License-Identifier: Apache-2.0

//go:build !windows

package page_test

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The page can be read: each colour of a text has a contrast of at least 4.5 (WCAG 2.2, 1.4.3), in both schemes, also on
// a line that the mouse is on. No text is dimmed otherwise, and no word is broken if a line can hold it.
func TestTextsCanBeRead(t *testing.T) {
	t.Parallel()
	_, html, _ := open(t).send("GET", "/", nil)
	schemes := regexp.MustCompile(`:root \{[^}]*\}`).FindAllString(html, -1)
	// the browsers' Canvas, and under --soft, 1/15 of #888
	backgrounds := [][]string{{"#fff", "#f7f7f7"}, {"#121212", "#1a1a1a"}}
	if len(schemes) != len(backgrounds) {
		t.Fatalf("the page has %d schemes", len(schemes))
	}
	for i, scheme := range schemes {
		colours := regexp.MustCompile(`--(accent|bad|good|dim): (#\w+)`).FindAllStringSubmatch(scheme, -1)
		if len(colours) != 4 {
			t.Errorf("%s: a colour is missing", scheme)
		}
		for _, of := range colours {
			for _, background := range backgrounds[i] {
				if got := contrast(t, of[2], background); got < 4.5 {
					t.Errorf("--%s: %s on %s has a contrast of %.2f", of[1], of[2], background, got)
				}
			}
		}
	}
	for _, unwanted := range []string{`opacity: 0?\.`, `overflow-wrap: anywhere`, `word-break`} {
		if found := regexp.MustCompile(unwanted).FindString(html); found != "" {
			t.Errorf("the page's style has %s", found)
		}
	}
}

// contrast returns the contrast of two colours, such as #fff, as WCAG computes it.
func contrast(t *testing.T, a, b string) float64 {
	t.Helper()
	bright, dark := luminance(t, a), luminance(t, b)
	return (max(bright, dark) + 0.05) / (min(bright, dark) + 0.05)
}

func luminance(t *testing.T, colour string) (sum float64) {
	t.Helper()
	digits := strings.TrimPrefix(colour, "#")
	if len(digits) == 3 {
		digits = regexp.MustCompile(`.`).ReplaceAllString(digits, "$0$0")
	}
	for i, weight := range []float64{0.2126, 0.7152, 0.0722} {
		value, err := strconv.ParseUint(digits[2*i:2*i+2], 16, 8)
		if err != nil {
			t.Fatal(err)
		}
		part := float64(value) / 255
		if part <= 0.04045 {
			part /= 12.92
		} else {
			part = math.Pow((part+0.055)/1.055, 2.4)
		}
		sum += weight * part
	}
	return sum
}
