// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// maxBytes bounds a report as JSON. It is far above what the kit writes.
const maxBytes = 40 << 20

// Write writes a report, compressed by gzip.
func (r *Report) Write(w io.Writer) error {
	r.Schema = Schema
	text, err := json.Marshal(r)
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

// Read reads a report, compressed or not. It refuses what it does not know: another schema, other fields, and more than
// the kit ever writes.
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
		return nil, fmt.Errorf("it has the schema %d, and this program reads %d: use the kit of the release "+
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

// check checks what the types do not say.
func (r *Report) check() error {
	if !slices.Contains([]string{Windows, Wine, Emulated}, r.Machine.System) {
		return fmt.Errorf("it comes from the unknown system %q", r.Machine.System)
	}
	for _, p := range r.Parts {
		known := slices.Contains(verdicts(), p.Verdict)
		for _, c := range p.Checks {
			known = known && slices.Contains(verdicts(), c.Verdict)
		}
		if !known {
			return fmt.Errorf("the part %s, or a check of it, has the verdict %q, which is unknown", p.Name, p.Verdict)
		}
	}
	return nil
}
