// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// shortestBytes is how many characters a name must have to be looked for in buffers in UTF-8: two or three bytes are
// there by chance.
const shortestBytes = 4

// bytes overwrites what is hidden, in UTF-16 and in UTF-8 and in whatever case, by as many x or by its hash, and the
// numbers of the machine in SIDs. It reports whether there was any.
func (h *hider) bytes(content []byte) (found bool) {
	found = hideSIDs(content)
	folded := foldASCII(content)
	overwrite := func(text, by []byte) {
		for from := 0; ; {
			i := bytes.Index(folded[from:], foldASCII(text))
			if i < 0 {
				return
			}
			copy(content[from+i:], by)
			copy(folded[from+i:], foldASCII(by))
			from += i + len(text)
			found = true
		}
	}
	for _, r := range h.all {
		by := r.bytes
		if by == nil {
			by = bytes.Repeat([]byte("x"), len(r.text))
		}
		if utf8.RuneCountInString(r.text) >= shortestBytes {
			for _, written := range caseForms(r.text) {
				if len(written) == len(by) {
					overwrite([]byte(written), by)
				}
			}
		}
		if !utf8.ValidString(r.text) {
			continue // a number in bytes
		}
		for _, written := range caseForms(r.text) {
			units := utf16.Encode([]rune(written))
			wide := make([]uint16, len(units))
			for i := range wide {
				wide[i] = 'x'
				if r.bytes != nil && i < len(by) {
					wide[i] = uint16(by[i])
				}
			}
			overwrite(littleEndian(units), littleEndian(wide))
		}
	}
	return found
}

// caseForms returns a text in the cases in which letters beyond ASCII are looked for.
func caseForms(text string) []string {
	forms := []string{text}
	if utf8.ValidString(text) && strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) >= 0 {
		forms = append(forms, strings.ToUpper(text), strings.ToLower(text))
	}
	return forms
}

// foldASCII returns bytes with the letters of ASCII in lower case.
func foldASCII(content []byte) []byte {
	folded := slices.Clone(content)
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
