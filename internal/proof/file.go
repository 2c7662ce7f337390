// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
)

// The bounds of a report. They are far above what the kit writes.
const (
	maxBytes   = 40 << 20 // as JSON
	maxParts   = 100
	maxChecks  = 20000 // of a part
	maxAnswers = 1000
	maxOutput  = 1000 // lines of a check
)

// Write writes a report, compressed by gzip.
func (r *Report) Write(w io.Writer) error {
	r.Schema = Schema
	digest, err := r.digest()
	if err != nil {
		return err
	}
	r.Digest = digest
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return err
	}
	if len(text) > maxBytes {
		return fmt.Errorf("the report has %d bytes, more than %d", len(text), maxBytes)
	}
	compressed := gzip.NewWriter(w)
	_, err = compressed.Write(append(text, '\n'))
	return errors.Join(err, compressed.Close())
}

// digest returns the SHA-256 of the report without its digest, as JSON without spaces.
func (r *Report) digest() (string, error) {
	copied := *r
	copied.Digest = ""
	text, err := json.Marshal(copied)
	if err != nil {
		return "", err
	}
	// Once more, since text that is not UTF-8 changes on the way to JSON and back.
	copied = Report{}
	if err := json.Unmarshal(text, &copied); err != nil {
		return "", err
	}
	if text, err = json.Marshal(copied); err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// Read reads a report, compressed or not. It refuses what it does not know: another schema, other fields, a report that
// was changed after it was written, and more than the kit ever writes.
func Read(from io.Reader) (*Report, error) {
	text, err := readAll(from)
	if err != nil {
		return nil, err
	}
	var head struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, fmt.Errorf("it is not a report of csi-proxy-prove: %w", err)
	}
	if head.Schema != Schema {
		return nil, fmt.Errorf("it has the schema %d, and this program reads %d: use the csi-proxyctl of the release "+
			"that made it", head.Schema, Schema)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var r Report
	if err := decoder.Decode(&r); err != nil {
		return nil, fmt.Errorf("it is not a report of csi-proxy-prove: %w", err)
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	return &r, nil
}

func readAll(from io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(from, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if bytes.HasPrefix(text, []byte{0x1f, 0x8b}) {
		compressed, err := gzip.NewReader(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		if text, err = io.ReadAll(io.LimitReader(compressed, maxBytes+1)); err != nil {
			return nil, err
		}
	}
	if len(text) > maxBytes {
		return nil, fmt.Errorf("it has more than %d bytes", maxBytes)
	}
	return text, nil
}

var sha256Text = regexp.MustCompile(`^[0-9a-f]{64}$`)

// check checks what the types do not say.
func (r *Report) check() error {
	if len(r.Parts) > maxParts || len(r.Answers) > maxAnswers || r.CallsLeftOut < 0 {
		return fmt.Errorf("it has %d parts and %d answers, and %d calls were left out", len(r.Parts),
			len(r.Answers), r.CallsLeftOut)
	}
	if !slices.Contains([]string{Windows, Wine, Emulated}, r.Machine.System) {
		return fmt.Errorf("it comes from the unknown system %q", r.Machine.System)
	}
	if !sha256Text.MatchString(r.Kit.SHA256) {
		return fmt.Errorf("the kit's hash is %q", r.Kit.SHA256)
	}
	names := map[string]bool{}
	for _, p := range r.Parts {
		if names[p.Name] || p.Name == "" {
			return fmt.Errorf("it has two parts %q", p.Name)
		}
		names[p.Name] = true
		if !slices.Contains(verdicts(), p.Verdict) {
			return fmt.Errorf("the part %s has the verdict %q", p.Name, p.Verdict)
		}
		if len(p.Checks) > maxChecks {
			return fmt.Errorf("the part %s has %d checks", p.Name, len(p.Checks))
		}
		for _, c := range p.Checks {
			if !slices.Contains(verdicts(), c.Verdict) || len(c.Output) > maxOutput {
				return fmt.Errorf("the check %s of the part %s has the verdict %q and %d lines", c.Test, p.Name,
					c.Verdict, len(c.Output))
			}
		}
	}
	digest, err := r.digest()
	if err != nil {
		return err
	}
	if digest != r.Digest {
		return errors.New("it was changed or cut short after it was written: its content does not have the digest that " +
			"it names")
	}
	return nil
}
