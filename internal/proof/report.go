// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Schema is the version of the fields below. A field with a new meaning, and a new field, too, makes a new version.
const Schema = 1

// A Report is what one run of the kit found.
type Report struct {
	Schema int `json:"schema"`

	Kit         Kit       `json:"kit"`
	Machine     Machine   `json:"machine"`
	Begun       time.Time `json:"begun"`
	Seconds     float64   `json:"seconds"`
	Interrupted bool      `json:"interrupted"` // it was ended early

	Found   []Finding `json:"found"` // by the first look
	Parts   []Part    `json:"parts"`
	Answers []Answer  `json:"answers"`

	// Calls are recorded kernel calls, one object of package recording each. CallsLeftOut had no place.
	Calls        []json.RawMessage `json:"calls"`
	CallsLeftOut int               `json:"callsLeftOut"`

	Cleaned []string `json:"cleaned"` // what an earlier run had left on the machine and this one removed
	Left    []string `json:"left"`    // what this run could not remove
}

// A Kit is the program that wrote a report.
type Kit struct {
	Version string `json:"version"`
	SHA256  string `json:"sha256"` // of its file, with all programs in it
}

// The systems of machines. Wine is never counted as Windows.
const (
	Windows  = "windows"
	Wine     = "wine"
	Emulated = "emulated" // any other system: only emulated nodes were looked at
)

// A Machine is where a kit ran.
type Machine struct {
	System       string `json:"system"`
	Product      string `json:"product"` // "Windows Server 2022 Datacenter"
	Edition      string `json:"edition"` // "ServerDatacenter"
	Build        string `json:"build"`   // "10.0.20348.2340"
	Wine         string `json:"wine"`    // its version
	Architecture string `json:"architecture"`
}

// A Finding is a fact of the first look.
type Finding struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// A Verdict is how a part or a check ended.
type Verdict string

// The verdicts.
const (
	Held        Verdict = "held"
	Failed      Verdict = "failed"
	Unavailable Verdict = "not here" // it needs what this machine lacks
	NotRun      Verdict = "not run"  // not requested, or the run was ended before
)

// A Part is one part of a run, such as the lives on the agent's pipes.
type Part struct {
	Name    string  `json:"name"`
	Does    string  `json:"does"` // to the machine
	Verdict Verdict `json:"verdict"`
	Reason  string  `json:"reason"`
	Seconds float64 `json:"seconds"`
	Checks  []Check `json:"checks"`
	Output  string  `json:"output"` // of a part that measures, or the last lines of one that failed outside of its checks
}

// A Check is one test of a part.
type Check struct {
	Test    string            `json:"test"`
	Verdict Verdict           `json:"verdict"`
	Reason  string            `json:"reason"`
	Seconds float64           `json:"seconds"`
	Methods map[string]string `json:"methods"` // by "volume v1 MountVolume": "proved", or how a single call ended
	Output  []string          `json:"output"`  // the last lines of a failed one
}

// An Answer is the machine's answer to an open question about Windows.
type Answer struct {
	Question string          `json:"question"` // "R3"
	Text     string          `json:"text"`
	Status   string          `json:"status"` // "answered", "not asked" or "failed"
	Answer   json.RawMessage `json:"answer,omitempty"`
	Reason   string          `json:"reason,omitempty"`
}

// Counts has the number of checks or parts with each verdict.
type Counts map[Verdict]int

// String returns them for people: 5 held, 1 failed.
func (c Counts) String() string {
	var all []string
	for _, v := range []Verdict{Held, Failed, Unavailable, NotRun} {
		if c[v] > 0 {
			all = append(all, fmt.Sprintf("%d %s", c[v], v))
		}
	}
	return strings.Join(all, ", ")
}

// Counts returns how many checks have each verdict.
func (p Part) Counts() Counts {
	counts := Counts{}
	for _, c := range p.Checks {
		counts[c.Verdict]++
	}
	return counts
}

// Counts returns how many parts have each verdict.
func (r *Report) Counts() Counts {
	counts := Counts{}
	for _, p := range r.Parts {
		counts[p.Verdict]++
	}
	return counts
}

// AllHeld reports whether everything that was tried held and nothing was left on the machine. A run in which nothing
// held has shown nothing.
func (r *Report) AllHeld() bool {
	is := func(v Verdict) bool {
		return slices.ContainsFunc(r.Parts, func(p Part) bool { return p.Verdict == v })
	}
	return is(Held) && !is(Failed) && !r.Interrupted && len(r.Left) == 0
}

// Said returns the answer on one line.
func (a Answer) Said() string {
	var line bytes.Buffer
	switch {
	case a.Status != "answered" && a.Reason != "":
		return a.Status + ": " + a.Reason
	case len(a.Answer) == 0 || json.Compact(&line, a.Answer) != nil:
		return a.Status
	}
	return line.String()
}

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

// Read reads a report, compressed or not. It refuses another schema, and more than the kit ever writes.
func Read(from io.Reader) (*Report, error) {
	buffered := bufio.NewReader(from)
	from = buffered
	if head, err := buffered.Peek(2); err == nil && string(head) == "\x1f\x8b" {
		if from, err = gzip.NewReader(buffered); err != nil {
			return nil, err
		}
	}
	text, err := io.ReadAll(io.LimitReader(from, maxBytes+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxBytes {
		return nil, fmt.Errorf("it has more than %d bytes", maxBytes)
	}
	var r Report
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("it is not a report of csi-proxy-prove: %w", err)
	}
	if r.Schema != Schema {
		return nil, fmt.Errorf("it has the schema %d, and this program reads %d: use the kit of the release "+
			"that made it", r.Schema, Schema)
	}
	return &r, nil
}
