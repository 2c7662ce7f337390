// SPDX-License-Identifier: Apache-2.0

package texts

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// A Replacement is a text that is hidden and what stands for it.
type Replacement struct {
	Text, By string
	Bytes    []byte // in buffers; nil: as many x
}

// Names replaces texts, in whatever case, and SIDs of a machine or domain.
type Names struct {
	all   []Replacement
	form  *regexp.Regexp // matches each of them
	forms []bytesForm    // in buffers
}

// shortest is how long a name must be to be replaced within other words: a user called Ann is not in "planned".
const shortest = 6

var (
	// machineSID matches the SID of an account of a machine or domain, whose numbers are that machine's own.
	machineSID = regexp.MustCompile(`S-1-5-21(-\d+){3}`)
	// cloudSID matches the SID of an account of Entra ID, which is its object there.
	cloudSID = regexp.MustCompile(`S-1-12-1(-\d+){4}`)
)

// NewNames returns a replacer. Of two replacements of one text, the first counts.
func NewNames(all []Replacement) (*Names, error) {
	n := &Names{}
	known := map[string]bool{}
	for _, r := range all {
		if key := strings.ToLower(r.Text); !known[key] {
			known[key] = true
			n.all = append(n.all, r)
		}
	}
	slices.SortFunc(n.all, func(a, b Replacement) int { // a host's full name comes before its first part
		return cmp.Or(cmp.Compare(len(b.Text), len(a.Text)), cmp.Compare(a.Text, b.Text))
	})
	var texts []string
	for _, r := range n.all {
		n.forms = append(n.forms, r.inBytes()...)
		if utf8.ValidString(r.Text) { // or it stands in bytes only
			texts = append(texts, regexp.QuoteMeta(r.Text))
		}
	}
	if len(texts) == 0 {
		texts = []string{`\z.`} // matches nothing
	}
	var err error
	n.form, err = regexp.Compile("(?i)" + strings.Join(texts, "|"))
	return n, err
}

// Text replaces within a text. A short name is replaced only where it is a word of its own.
func (n *Names) Text(text string) string {
	text = cloudSID.ReplaceAllString(machineSID.ReplaceAllString(text, "S-1-5-21-MACHINE"), "S-1-12-1-USER")
	var out strings.Builder
	end := 0
	for _, at := range n.form.FindAllStringIndex(text, -1) {
		match := text[at[0]:at[1]]
		before, _ := utf8.DecodeLastRuneInString(text[:at[0]])
		after, _ := utf8.DecodeRuneInString(text[at[1]:])
		if utf8.RuneCountInString(match) < shortest && (inWord(before) || inWord(after)) {
			continue
		}
		i := slices.IndexFunc(n.all, func(r Replacement) bool { return strings.EqualFold(r.Text, match) })
		out.WriteString(text[end:at[0]] + n.all[i].By)
		end = at[1]
	}
	return out.String() + text[end:]
}

func inWord(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// Encoded replaces within bytes that are written in base 64 or hexadecimal, and keeps their number. It reports whether
// it found any.
func (n *Names) Encoded(text string) (string, bool) {
	if len(text) < 8 {
		return text, false
	}
	for _, form := range []struct {
		decode func(string) ([]byte, error)
		encode func([]byte) string
	}{
		{hex.DecodeString, hex.EncodeToString},
		{base64.StdEncoding.DecodeString, base64.StdEncoding.EncodeToString},
	} {
		content, err := form.decode(text)
		if err == nil && n.Bytes(content) {
			return form.encode(content), true
		}
	}
	return text, false
}

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
