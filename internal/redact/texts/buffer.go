// SPDX-License-Identifier: Apache-2.0

package texts

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// shortestBytes is how many characters a name must have to be looked for in buffers in UTF-8: two or three bytes are
// there by chance.
const shortestBytes = 4

// A bytesForm is a way in which a text stands in buffers, with the letters of ASCII in lower case, and what overwrites
// it: as many bytes.
type bytesForm struct{ text, by []byte }

// inBytes returns the forms of a text: in UTF-8 and UTF-16, and letters beyond ASCII in either case.
func (r Replacement) inBytes() (forms []bytesForm) {
	by := r.Bytes
	if by == nil {
		by = bytes.Repeat([]byte("x"), len(r.Text))
	}
	if !utf8.ValidString(r.Text) { // a number in bytes
		return []bytesForm{{foldASCII([]byte(r.Text)), by}}
	}
	cases := []string{r.Text}
	if strings.IndexFunc(r.Text, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		cases = append(cases, strings.ToUpper(r.Text), strings.ToLower(r.Text))
	}
	for _, text := range cases {
		if utf8.RuneCountInString(text) >= shortestBytes && len(text) == len(by) {
			forms = append(forms, bytesForm{foldASCII([]byte(text)), by})
		}
		wide := bytesForm{text: foldASCII(littleEndian(utf16.Encode([]rune(text))))}
		for i := range len(wide.text) / 2 {
			unit := byte('x')
			if i < len(by) {
				unit = by[i]
			}
			wide.by = append(wide.by, unit, 0)
		}
		forms = append(forms, wide)
	}
	return forms
}

func foldASCII(content []byte) []byte {
	folded := bytes.Clone(content)
	for i, b := range folded {
		if 'A' <= b && b <= 'Z' {
			folded[i] = b + 'a' - 'A'
		}
	}
	return folded
}

func littleEndian(units []uint16) (b []byte) {
	for _, unit := range units {
		b = binary.LittleEndian.AppendUint16(b, unit)
	}
	return b
}

// Bytes overwrites what is hidden in a buffer, and the numbers of the machine in SIDs. It reports whether there was
// any.
func (n *Names) Bytes(content []byte) (found bool) {
	found = hideSIDs(content)
	folded := foldASCII(content)
	for _, form := range n.forms {
		for from := 0; ; from += len(form.text) {
			i := bytes.Index(folded[from:], form.text)
			if i < 0 {
				break
			}
			from += i
			copy(content[from:], form.by)
			copy(folded[from:], foldASCII(form.by))
			found = true
		}
	}
	return found
}

// sidPrefix begins the bytes of a SID of a machine or domain after its count of numbers: the authority 5 and the first
// number, 21.
var sidPrefix = []byte{0, 0, 0, 0, 0, 5, 21, 0, 0, 0}

// wideSID matches the text of such a SID in UTF-16.
var wideSID = regexp.MustCompile(`S\x00-\x001\x00-\x005\x00-\x002\x001\x00(?:-\x00(?:\d\x00)+){3}`)

// hideSIDs overwrites the numbers of the machine or domain in SIDs, in bytes and in text.
func hideSIDs(content []byte) (found bool) {
	const revision, count, numbers = 1, 2, 3 * 4
	for from := 0; ; {
		i := bytes.Index(content[from:], sidPrefix)
		if i < 0 {
			break
		}
		at := from + i
		from = at + len(sidPrefix)
		if at >= count && content[at-count] == revision && content[at-1] >= 4 && content[at-1] <= 15 &&
			len(content) >= from+numbers {
			copy(content[from:], "xxxxxxxxxxxx")
			found = true
		}
	}
	for form, prefix := range map[*regexp.Regexp]int{machineSID: len("S-1-5-21"), wideSID: 2 * len("S-1-5-21")} {
		for _, at := range form.FindAllIndex(content, -1) {
			for i := at[0] + prefix; i < at[1]; i++ {
				if '0' <= content[i] && content[i] <= '9' {
					content[i] = '0'
					found = true
				}
			}
		}
	}
	return found
}
