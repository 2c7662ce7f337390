// SPDX-License-Identifier: Apache-2.0

package texts

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
	"unicode"
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
