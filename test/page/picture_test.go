// SPDX-License-Identifier: Apache-2.0

//go:build unix

package page

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"slices"
	"testing"
)

// picture writes what the browser shows to a file, with the 256 commonest colours: text on white needs no more, and the
// file is a third as large.
func (b *tab) picture(file string) {
	b.t.Helper()
	b.eval(`scrollTo(0, 0)`, nil)
	var shot struct{ Data []byte }
	b.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	full, err := png.Decode(bytes.NewReader(shot.Data))
	if err != nil {
		b.t.Fatal(err)
	}
	counts := map[color.Color]int{}
	for y := range full.Bounds().Dy() {
		for x := range full.Bounds().Dx() {
			counts[full.At(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(counts), func(a, b color.Color) int { return counts[b] - counts[a] })
	reduced := image.NewPaletted(full.Bounds(), colours[:min(256, len(colours))])
	draw.Draw(reduced, reduced.Bounds(), full, image.Point{}, draw.Src)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, reduced); err != nil {
		b.t.Fatal(err)
	}
	for name, content := range map[string][]byte{file: out.Bytes(), drawn: digest(b.t)} {
		if err := os.WriteFile(name, content, 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
}

// drawn has the digest of the page that the picture in the documents shows.
const drawn = "testdata/drawn.sha256"

func digest(t *testing.T) []byte {
	t.Helper()
	page, err := os.ReadFile("../../internal/emulated/page/index.html")
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Appendf(nil, "%x\n", sha256.Sum256(page))
}

// TestPictureIsOfThisPage fails after a change of the page until make check-page has drawn it anew.
func TestPictureIsOfThisPage(t *testing.T) {
	want, err := os.ReadFile(drawn)
	if err != nil {
		t.Fatal(err)
	}
	if got := digest(t); !bytes.Equal(got, want) {
		t.Error("the page has changed: make check-page SCREENSHOT=docs/emulated-node-page.png")
	}
}
