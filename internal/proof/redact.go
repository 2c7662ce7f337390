// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"bytes"
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kubernetes-csi/csi-proxy/internal/emulated/recording"
	"github.com/kubernetes-csi/csi-proxy/internal/proof/texts"
)

// Hidden is what a report must not hold, because it is personal to the machine.
type Hidden struct {
	// Names maps a name of the host, its users or its domain to what stands for it: "HOST".
	Names map[string]string
	// Serials are replaced by a hash of the same length, so that equal ones can be seen to be equal.
	Serials []string
	// Salt makes the hashes those of one report, so that a serial cannot be found by trying them all.
	Salt []byte
	// Own reports whether a name that stands in a recorded call was made by the kit.
	Own func(name string) bool
}

// kept are the members whose texts are the kit's own words.
func kept() []string {
	return []string{"begun", "sha256", "system", "name", "does", "test", "verdict", "question", "status",
		"function", "codeName", "error", "failed"}
}

// The members of a report whose values have rules of their own: in answers the members' names may hold names, too, and
// nothing is kept; a recorded buffer may look like a secret and is none.
const (
	answer = "answer"
	calls  = "calls"
)

// Hide replaces everything that is hidden in all texts of a report, and removes what looks like a secret.
func (r *Report) Hide(h Hidden) error {
	names, err := texts.NewNames(r.replacements(h))
	if err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	var value any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // a number of 64 bits stays what it is
	if err := decoder.Decode(&value); err != nil {
		return err
	}
	if text, err = json.Marshal(redact(names, value, "")); err != nil {
		return err
	}
	*r = Report{}
	return json.Unmarshal(text, r)
}

// redact replaces within a JSON value and everything below it. A text may be bytes in base 64 or hexadecimal.
func redact(names *texts.Names, value any, in string) any {
	switch v := value.(type) {
	case string:
		if hidden, ok := names.Encoded(v); ok {
			return hidden
		}
		if v = names.Text(v); in != calls {
			v = texts.WithoutSecrets(v)
		}
		return v
	case []any:
		for i := range v {
			v[i] = redact(names, v[i], in)
		}
	case map[string]any:
		hidden := map[string]any{}
		for name, below := range v {
			switch {
			case in == answer:
				hidden[texts.WithoutSecrets(names.Text(name))] = redact(names, below, in)
			case slices.Contains(kept(), name):
				hidden[name] = below
			case name == answer || name == calls:
				hidden[name] = redact(names, below, name)
			default:
				hidden[name] = redact(names, below, in)
			}
		}
		return hidden
	}
	return value
}

// shortestSerial: "0", "N/A" are no serial numbers, and stand anywhere.
const shortestSerial = 4

// replacements returns those of this machine's own names and numbers, and those of others, which recorded calls show.
func (r *Report) replacements(h Hidden) (all []texts.Replacement) {
	names := func(of map[string]string) {
		for text, by := range of {
			if utf8.RuneCountInString(text) > 1 {
				all = append(all, texts.Replacement{Text: text, By: by})
			}
		}
	}
	names(h.Names)
	for _, line := range r.Calls {
		var c recording.Call
		if h.Own != nil && json.Unmarshal(line, &c) == nil {
			names(c.Others(h.Own))
		}
	}
	for _, serial := range h.Serials {
		text := strings.TrimSpace(serial)
		if len(text) < shortestSerial {
			continue
		}
		sum := sha512.Sum512(append(slices.Clone(h.Salt), strings.ToLower(text)...))
		by := hex.EncodeToString(sum[:])
		by = strings.Repeat(by, 1+len(text)/len(by))[:len(text)]
		all = append(all, texts.Replacement{Text: text, By: by, Bytes: []byte(by)})
	}
	return all
}
