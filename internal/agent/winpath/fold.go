// SPDX-License-Identifier: Apache-2.0

package winpath

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Fold maps a name to lower case: names that fold to the same text are the same name on NTFS. NTFS compares 16-bit
// units by a table of its own, $UpCase, which was written when the volume was formatted and has fewer pairs of letters
// than Unicode has today. So Fold maps only letters of scripts in which every such table, since Windows Vista, agrees
// with Unicode, and only pairs that map to each other: the Kelvin sign is not k, ſ and ı are not S and I, µ is not Μ.
// If NTFS folds a rare letter and Fold does not, a path is refused, never let through.
//
// In a case-sensitive directory (fsutil file setCaseSensitiveInfo), names that fold to one text can be two files.
func Fold(name string) string { return strings.Map(lower, name) }

// folded holds the lower-case letters of the pairs that Fold maps, other than those of ASCII.
var folded = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x00E0, Hi: 0x017E, Stride: 1}, // Latin-1, Latin Extended-A
		{Lo: 0x03AC, Hi: 0x03CE, Stride: 1}, // Greek
		{Lo: 0x0430, Hi: 0x0513, Stride: 1}, // Cyrillic
		{Lo: 0x0561, Hi: 0x0586, Stride: 1}, // Armenian
		{Lo: 0x1E00, Hi: 0x1EF9, Stride: 1}, // Latin Extended Additional, Vietnamese
		{Lo: 0xFF41, Hi: 0xFF5A, Stride: 1}, // full-width Latin
	},
}

func lower(r rune) rune {
	switch {
	case 'A' <= r && r <= 'Z':
		return r - 'A' + 'a'
	case r < utf8.RuneSelf:
		return r
	}
	pair := unicode.ToLower(r)
	if !unicode.Is(folded, pair) || unicode.ToUpper(pair) != r {
		return r
	}
	return pair
}

// LooksASCII reports whether a name has a letter that other programs may take for one of ASCII: the Kelvin sign for k,
// ſ for s. Windows itself may read such a name as another one's.
func LooksASCII(name string) bool {
	return strings.ContainsFunc(name, func(r rune) bool {
		for other := unicode.SimpleFold(r); r >= utf8.RuneSelf && other != r; other = unicode.SimpleFold(other) {
			if other < utf8.RuneSelf {
				return true
			}
		}
		return false
	})
}

// LowerASCII maps ASCII letters only, in names of iSCSI targets: others may become ASCII, and another name.
func LowerASCII(text string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r - 'A' + 'a'
		}
		return r
	}, text)
}
