// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"bytes"
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
	"github.com/kubernetes-csi/csi-proxy/internal/redact/texts"
)

// Hidden is what a report must not hold, because it is personal to the machine.
type Hidden struct {
	// Names maps a name of the host, its users or its domain to what stands for it: "HOST".
	Names map[string]string
	// Serials are replaced by a hash of the same length, so that equal ones can be seen to be equal.
	Serials []string
	// HashDisks hides the serial numbers and page 83 identifiers of disks, too, of all that the report shows.
	HashDisks bool
	// Salt makes the hashes those of one report, so that a serial cannot be found by trying them all.
	Salt []byte
	// Own reports whether a name that stands in a recorded call was made by the kit.
	Own func(name string) bool
}

// A section is a part of a report with one kind of texts.
type section struct {
	kept    []string // members whose texts are the kit's own words
	members bool     // the members' names may hold names, too
	secrets bool     // what looks like a secret is removed
	encoded bool     // texts may be bytes in base 64 or hexadecimal
}

var (
	prose = section{secrets: true, kept: []string{"begun", "sha256", "programs", "system", "name", "does", "test",
		"verdict", "question", "status"}}
	answers = section{members: true, secrets: true, encoded: true}
	// without secrets, because a buffer may look like one
	calls = section{encoded: true, kept: []string{"function", "codeName", "error", "failed"}}
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
	if text, err = json.Marshal(redact(names, value, prose)); err != nil {
		return err
	}
	*r = Report{}
	return json.Unmarshal(text, r)
}

// redact replaces within a JSON value and everything below it.
func redact(names *texts.Names, value any, in section) any {
	switch v := value.(type) {
	case string:
		if hidden, ok := names.Encoded(v); in.encoded && ok {
			return hidden
		}
		if v = names.Text(v); in.secrets {
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
			inside := in
			switch {
			case in.members:
				name = texts.WithoutSecrets(names.Text(name))
			case slices.Contains(in.kept, name):
				hidden[name] = below
				continue
			case name == "answer":
				inside = answers
			case name == "calls":
				inside = calls
			}
			hidden[name] = redact(names, below, inside)
		}
		return hidden
	}
	return value
}

const (
	shortestSerial     = 4 // "0", "N/A": no serial number, and it stands anywhere
	shortestIdentifier = 8 // others are numbers of ports, and stand anywhere
)

// replacements returns those of this machine's own names and numbers, and those of others, which recorded calls show.
func (r *Report) replacements(h Hidden) (all []texts.Replacement) {
	names := func(of map[string]string) {
		for text, by := range of {
			if utf8.RuneCountInString(text) > 1 {
				all = append(all, texts.Replacement{Text: text, By: by})
			}
		}
	}
	serials := slices.Clone(h.Serials)
	names(h.Names)
	for _, seen := range r.others(h) {
		names(seen.Names)
		if h.HashDisks {
			serials = append(serials, seen.Serials...)
			for _, id := range seen.Identifiers {
				all = append(all, h.identifier(id)...)
			}
		}
	}
	if h.HashDisks {
		serials = append(serials, r.answeredSerials()...)
	}
	for _, serial := range serials {
		if text := strings.TrimSpace(serial); len(text) >= shortestSerial {
			by := hex.EncodeToString(h.hash([]byte(strings.ToLower(text))))[:len(text)]
			all = append(all, texts.Replacement{Text: text, By: by, Bytes: []byte(by)})
		}
	}
	return all
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

// identifier returns the replacements of an identifier of vital product data page 83, in bytes and as Windows and
// people write it.
func (h Hidden) identifier(id []byte) []texts.Replacement {
	binary := func(r rune) bool { return r < ' ' || r > '~' }
	if len(id) < shortestIdentifier ||
		!bytes.ContainsFunc(id, func(r rune) bool { return binary(r) || unicode.IsDigit(r) }) { // only a maker's name
		return nil
	}
	by := h.hash(id)
	if !bytes.ContainsFunc(id, binary) {
		by = []byte(hex.EncodeToString(by)[:len(by)])
	}
	return []texts.Replacement{{Text: string(id), By: string(by), Bytes: by},
		{Text: hex.EncodeToString(id), By: hex.EncodeToString(by)}}
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
