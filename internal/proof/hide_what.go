// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kubernetes-csi/csi-proxy/internal/recording"
)

// A replacement is a text that is hidden and what stands for it.
type replacement struct {
	text, by string
	bytes    []byte // in buffers; nil: as many x
}

// hash returns bytes that stand for others, as many. They say nothing about them but whether two are equal.
func (h Hidden) hash(content []byte) []byte {
	var all []byte
	for round := byte(0); len(all) < len(content); round++ {
		sum := sha256.Sum256(slices.Concat(h.Salt, []byte{round}, content))
		all = append(all, sum[:]...)
	}
	return all[:len(content)]
}

// serial replaces a serial number, in whatever case, by digits, everywhere in the same way.
func (h Hidden) serial(text string) replacement {
	text = strings.TrimSpace(text)
	by := hex.EncodeToString(h.hash([]byte(strings.ToLower(text))))[:len(text)]
	return replacement{text, by, []byte(by)}
}

const (
	shortestSerial     = 4 // "0", "N/A": no serial number, and it stands anywhere
	shortestIdentifier = 8 // others are numbers of ports, and stand anywhere
)

// replacements returns those of this machine's own names and numbers, and those of others, which recorded calls show.
func (r *Report) replacements(h Hidden) (own, others []replacement) {
	known := map[string]bool{}
	add := func(to *[]replacement, one replacement) {
		if key := strings.ToLower(one.text); !known[key] {
			known[key] = true
			*to = append(*to, one)
		}
	}
	name := func(to *[]replacement, name, by string) {
		if utf8.RuneCountInString(name) > 1 {
			add(to, replacement{text: name, by: by})
		}
	}
	serials := slices.Clone(h.Serials)
	for text, by := range h.Names {
		name(&own, text, by)
	}
	for _, seen := range r.others(h) {
		for text, by := range seen.Names {
			name(&others, text, by)
		}
		if !h.HashDisks {
			continue
		}
		serials = append(serials, seen.Serials...)
		for _, id := range seen.Identifiers {
			if len(id) < shortestIdentifier ||
				!bytes.ContainsFunc(id, func(r rune) bool { return r < ' ' || r > '~' || unicode.IsDigit(r) }) {
				continue // or only a maker's name
			}
			by := h.hash(id)
			if !bytes.ContainsFunc(id, func(r rune) bool { return r < ' ' || r > '~' }) { // a text
				by = []byte(hex.EncodeToString(by)[:len(by)])
			}
			add(&own, replacement{string(id), string(by), by})
			add(&own, replacement{hex.EncodeToString(id), hex.EncodeToString(by), nil}) // as Windows and people write it
		}
	}
	if h.HashDisks {
		serials = append(serials, r.answeredSerials()...)
	}
	for _, serial := range serials {
		if one := h.serial(serial); len(one.text) >= shortestSerial {
			add(&own, one)
		}
	}
	return longestFirst(own), longestFirst(others)
}

// longestFirst sorts replacements: a host's full name comes before its first part.
func longestFirst(all []replacement) []replacement {
	slices.SortFunc(all, func(a, b replacement) int {
		return cmp.Or(cmp.Compare(len(b.text), len(a.text)), cmp.Compare(a.text, b.text))
	})
	return all
}

// others returns what the recorded calls show of others.
func (r *Report) others(h Hidden) (all []recording.Others) {
	own := h.Own
	if own == nil {
		own = func(string) bool { return false }
	}
	for _, line := range r.Calls {
		var c recording.Call
		if json.Unmarshal(line, &c) == nil {
			all = append(all, c.Others(own))
		}
	}
	return all
}

// diskNumber matches how answers about disks show what only one disk has.
var diskNumber = regexp.MustCompile(`(?i)"(?:SerialNumber|Serial|UniqueId)":\s*"((?:[^"\\]|\\.)*)"`)

// answeredSerials returns the serial numbers and unique IDs that answers show.
func (r *Report) answeredSerials() (all []string) {
	for _, a := range r.Answers {
		for _, m := range diskNumber.FindAllSubmatch(a.Answer, -1) {
			var text string
			if json.Unmarshal([]byte(`"`+string(m[1])+`"`), &text) == nil {
				if plain, err := strconv.Unquote(text); err == nil {
					text = plain
				}
				all = append(all, text)
			}
		}
	}
	return all
}
