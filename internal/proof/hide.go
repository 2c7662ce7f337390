// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/kubernetes-csi/csi-proxy/internal/doctor"
)

// Hidden is what a report must not hold, because it is personal to the machine.
type Hidden struct {
	// Names maps a name of the host, its users or its domain to what stands for it: "HOST".
	Names map[string]string
	// Serials are replaced by a hash, so that equal ones can be seen to be equal.
	Serials []string
	// Salt makes the hashes those of one report, so that nobody finds a serial by trying them all.
	Salt []byte
}

// shortest is how long a name must be to be replaced within other words: a user called Ann is not in "planned".
const shortest = 6

// machineSID matches the SID of an account of a machine or domain, whose numbers are that machine's own.
var machineSID = regexp.MustCompile(`S-1-5-21(-\d+){3}`)

// A replacement is a text that is hidden and what stands for it.
type replacement struct{ text, by string }

// replacements returns all of them, the longest first: a host's full name before its first part.
func (h Hidden) replacements() (all []replacement) {
	for name, by := range h.Names {
		if utf8.RuneCountInString(name) > 1 {
			all = append(all, replacement{name, by})
		}
	}
	for _, serial := range h.Serials {
		if len(strings.TrimSpace(serial)) < 4 {
			continue // "0", "None": no serial number, and it stands anywhere
		}
		sum := sha256.Sum256(append(slices.Clone(h.Salt), serial...))
		all = append(all, replacement{strings.TrimSpace(serial), "serial-" + hex.EncodeToString(sum[:4])})
	}
	slices.SortFunc(all, func(a, b replacement) int {
		return cmp.Or(cmp.Compare(len(b.text), len(a.text)), cmp.Compare(a.text, b.text))
	})
	return all
}

// Hide replaces everything that is hidden in all texts of a report, and removes what looks like a secret.
func (r *Report) Hide(h Hidden) error {
	hider, err := newHider(h.replacements())
	if err != nil {
		return err
	}
	return hider.value(reflect.ValueOf(r).Elem())
}

type hider struct {
	all  []replacement
	form *regexp.Regexp // matches each of them in whatever case; nil: there is none
}

func newHider(all []replacement) (*hider, error) {
	if len(all) == 0 {
		return &hider{}, nil
	}
	var forms []string
	for _, r := range all {
		forms = append(forms, regexp.QuoteMeta(r.text))
	}
	form, err := regexp.Compile("(?i)" + strings.Join(forms, "|"))
	return &hider{all, form}, err
}

// value replaces within a value and everything below it. Only plain strings can hold names: the verdicts are ours.
func (h *hider) value(v reflect.Value) error {
	switch {
	case v.Type() == reflect.TypeFor[[]json.RawMessage](): // recorded calls: a buffer may look like a secret, and package recording writes none
		for i := range v.Len() {
			if err := h.document(v.Index(i), h.names); err != nil {
				return err
			}
		}
		return nil
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		return h.document(v, h.text)
	case v.Type() == reflect.TypeFor[string]():
		v.SetString(h.text(v.String()))
		return nil
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue // of time.Time
			}
			if err := h.value(v.Field(i)); err != nil {
				return err
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := h.value(v.Index(i)); err != nil {
				return err
			}
		}
	case reflect.Map: // of strings
		hidden := reflect.MakeMap(v.Type())
		for it := v.MapRange(); it.Next(); {
			hidden.SetMapIndex(reflect.ValueOf(h.text(it.Key().String())), reflect.ValueOf(h.text(it.Value().String())))
		}
		if !v.IsNil() {
			v.Set(hidden)
		}
	}
	return nil
}

// document replaces within a JSON document, in the names of its members, too.
func (h *hider) document(v reflect.Value, hide func(string) string) error {
	if v.Len() == 0 {
		return nil
	}
	decoder := json.NewDecoder(bytes.NewReader(v.Bytes()))
	decoder.UseNumber() // a number of 64 bits stays what it is
	var value any
	if err := decoder.Decode(&value); err != nil {
		return err
	}
	text, err := json.Marshal(h.any(value, hide))
	v.SetBytes(text)
	return err
}

func (h *hider) any(value any, hide func(string) string) any {
	switch v := value.(type) {
	case string:
		if hidden, ok := h.encoded(v); ok {
			return hidden
		}
		return hide(v)
	case []any:
		for i := range v {
			v[i] = h.any(v[i], hide)
		}
	case map[string]any:
		hidden := map[string]any{}
		for name, below := range v {
			hidden[hide(name)] = h.any(below, hide)
		}
		return hidden
	}
	return value
}

// encoded replaces within bytes that are written in base 64 or hexadecimal, and keeps their number: a buffer that a kernel call
// filled has names in UTF-16. It reports whether it found any.
func (h *hider) encoded(text string) (string, bool) {
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
		if err == nil && h.bytes(content) {
			return form.encode(content), true
		}
	}
	return text, false
}

// shortestBytes is how many characters a name must have to be looked for in buffers in UTF-8: two or three bytes are there by chance.
const shortestBytes = 4

// bytes overwrites what is hidden, in UTF-16 and in UTF-8, by as many x, and reports whether there was any.
func (h *hider) bytes(content []byte) (found bool) {
	for _, r := range h.all {
		inUTF8 := utf8.RuneCountInString(r.text) >= shortestBytes
		for _, written := range []string{r.text, strings.ToUpper(r.text), strings.ToLower(r.text)} {
			var wide []byte
			for _, unit := range utf16.Encode([]rune(written)) {
				wide = binary.LittleEndian.AppendUint16(wide, unit)
			}
			var x []byte
			for len(x) < len(wide) {
				x = append(x, 'x', 0)
			}
			for _, form := range []struct{ text, by []byte }{{wide, x}, {[]byte(written), bytes.Repeat([]byte("x"), len(written))}} {
				for i := bytes.Index(content, form.text); i >= 0 && !bytes.Contains(form.by, form.text); i = bytes.Index(content, form.text) {
					copy(content[i:], form.by)
					found = true
				}
				if !inUTF8 {
					break
				}
			}
		}
	}
	return found
}

// text replaces what is hidden, and removes what looks like a secret.
func (h *hider) text(text string) string { return doctor.WithoutSecrets(h.names(text)) }

// names replaces what is hidden, in whatever case, and SIDs of the machine. A short name is replaced only where it is a word
// of its own.
func (h *hider) names(text string) string {
	text = machineSID.ReplaceAllString(text, "S-1-5-21-MACHINE")
	if h.form == nil {
		return text
	}
	var out strings.Builder
	end := 0
	for _, at := range h.form.FindAllStringIndex(text, -1) {
		match := text[at[0]:at[1]]
		if utf8.RuneCountInString(match) < shortest && (endsInWord(text[:at[0]]) || startsWord(text[at[1]:])) {
			continue
		}
		i := slices.IndexFunc(h.all, func(r replacement) bool { return strings.EqualFold(r.text, match) })
		out.WriteString(text[end:at[0]] + h.all[i].by)
		end = at[1]
	}
	return out.String() + text[end:]
}

func startsWord(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return text != "" && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

func endsInWord(text string) bool {
	r, _ := utf8.DecodeLastRuneInString(text)
	return text != "" && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
