// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kubernetes-csi/csi-proxy/internal/doctor"
)

// Hidden is what a report must not hold, because it is personal to the machine.
type Hidden struct {
	// Names maps a name of the host, its users or its domain to what stands for it: "HOST".
	Names map[string]string
	// Serials are replaced by a hash of the same length, so that equal ones can be seen to be equal.
	Serials []string
	// HashDisks hides the serial numbers and page 83 identifiers of disks, too, of all that the report shows.
	HashDisks bool
	// Salt makes the hashes those of one report, so that nobody finds a serial by trying them all.
	Salt []byte
	// Own reports whether a name that stands in a recorded call was made by the kit.
	Own func(name string) bool
}

// shortest is how long a name must be to be replaced within other words: a user called Ann is not in "planned".
const shortest = 6

// machineSID matches the SID of an account of a machine or domain, whose numbers are that machine's own.
var machineSID = regexp.MustCompile(`S-1-5-21(-\d+){3}`)

// cloudSID matches the SID of an account of Entra ID, which is its object there.
var cloudSID = regexp.MustCompile(`S-1-12-1(-\d+){4}`)

// Hide replaces everything that is hidden in all texts of a report, and removes what looks like a secret.
func (r *Report) Hide(h Hidden) error {
	own, others := r.replacements(h)
	hider, err := newHider(own)
	if err != nil {
		return err
	}
	if err := hider.value(reflect.ValueOf(r).Elem()); err != nil {
		return err
	}
	if hider, err = newHider(others); err != nil {
		return err
	}
	return r.hideOthers(hider)
}

// hideOthers replaces names where others' may stand. A share may be called like a test or a method.
func (r *Report) hideOthers(h *hider) error {
	texts := []*string{}
	for i := range r.Found {
		texts = append(texts, &r.Found[i].Text)
	}
	for i := range r.Parts {
		p := &r.Parts[i]
		texts = append(texts, &p.Reason, &p.Output)
		for j := range p.Checks {
			texts = append(texts, &p.Checks[j].Reason)
			for k := range p.Checks[j].Output {
				texts = append(texts, &p.Checks[j].Output[k])
			}
		}
	}
	for i := range r.Answers {
		texts = append(texts, &r.Answers[i].Reason)
		if err := h.document(reflect.ValueOf(&r.Answers[i].Answer).Elem(), h.names); err != nil {
			return err
		}
	}
	for _, list := range [][]string{r.Cleaned, r.Left} {
		for i := range list {
			texts = append(texts, &list[i])
		}
	}
	for _, text := range texts {
		*text = h.names(*text)
	}
	return h.calls(reflect.ValueOf(r.Calls))
}

// ours are the fields with names that this project has given: a user called Test is not in that of a test.
var ours = []string{"Name", "Does", "Test", "Question", "Status"}

type hider struct {
	all  []replacement
	form *regexp.Regexp // matches each of them in whatever case; nil: there is none
}

func newHider(all []replacement) (*hider, error) {
	var forms []string
	for _, r := range all {
		if utf8.ValidString(r.text) { // or it stands in bytes only
			forms = append(forms, regexp.QuoteMeta(r.text))
		}
	}
	if len(forms) == 0 {
		return &hider{all: all}, nil
	}
	form, err := regexp.Compile("(?i)" + strings.Join(forms, "|"))
	return &hider{all, form}, err
}

// value replaces within a value and everything below it. Only plain strings can hold names: the verdicts are ours.
func (h *hider) value(v reflect.Value) error {
	switch {
	// recorded calls: a buffer may look like a secret, and package recording writes none
	case v.Type() == reflect.TypeFor[[]json.RawMessage]():
		return h.calls(v)
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		return h.document(v, h.text)
	case v.Type() == reflect.TypeFor[string]():
		v.SetString(h.text(v.String()))
		return nil
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if !field.IsExported() || slices.Contains(ours, field.Name) {
				continue // also of time.Time
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
	case reflect.Map: // of strings, by names of ours
		hidden := reflect.MakeMap(v.Type())
		for it := v.MapRange(); it.Next(); {
			hidden.SetMapIndex(it.Key(), reflect.ValueOf(h.text(it.Value().String())))
		}
		if !v.IsNil() {
			v.Set(hidden)
		}
	}
	return nil
}

// calls replaces within recorded calls, but not in what names functions and codes.
func (h *hider) calls(v reflect.Value) error {
	for i := range v.Len() {
		call := v.Index(i)
		value, err := decoded(call.Bytes())
		if err != nil {
			return err
		}
		if members, ok := value.(map[string]any); ok {
			for name, below := range members {
				if !slices.Contains([]string{"function", "codeName", "error", "failed"}, name) {
					members[name] = h.any(below, h.names, false)
				}
			}
		}
		text, err := json.Marshal(value)
		if err != nil {
			return err
		}
		call.SetBytes(text)
	}
	return nil
}

// document replaces within a JSON document, in the names of its members, too.
func (h *hider) document(v reflect.Value, hide func(string) string) error {
	if v.Len() == 0 {
		return nil
	}
	value, err := decoded(v.Bytes())
	if err != nil {
		return err
	}
	text, err := json.Marshal(h.any(value, hide, true))
	v.SetBytes(text)
	return err
}

func decoded(text []byte) (value any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // a number of 64 bits stays what it is
	return value, decoder.Decode(&value)
}

func (h *hider) any(value any, hide func(string) string, members bool) any {
	switch v := value.(type) {
	case string:
		if hidden, ok := h.encoded(v); ok {
			return hidden
		}
		return hide(v)
	case []any:
		for i := range v {
			v[i] = h.any(v[i], hide, members)
		}
	case map[string]any:
		hidden := map[string]any{}
		for name, below := range v {
			if members {
				name = hide(name)
			}
			hidden[name] = h.any(below, hide, members)
		}
		return hidden
	}
	return value
}

// encoded replaces within bytes that are written in base 64 or hexadecimal, and keeps their number: a buffer that a
// kernel call filled has names in UTF-16. It reports whether it found any.
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

// text replaces what is hidden, and removes what looks like a secret.
func (h *hider) text(text string) string { return doctor.WithoutSecrets(h.names(text)) }

// names replaces what is hidden, in whatever case, and SIDs of the machine. A short name is replaced only where it is a
// word of its own.
func (h *hider) names(text string) string {
	text = cloudSID.ReplaceAllString(machineSID.ReplaceAllString(text, "S-1-5-21-MACHINE"), "S-1-12-1-USER")
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
