// SPDX-License-Identifier: Apache-2.0

//go:build unix

package page

import (
	"bytes"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"os"
	"slices"
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
	if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
		b.t.Fatal(err)
	}
}
