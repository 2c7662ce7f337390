// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/kubernetes-csi/csi-proxy/internal/proof"
)

// write writes the report of what was found so far, and its page, without what is hidden. It is written after each
// part, so that a machine that stops costs one part.
func (r *running) write() error {
	r.report.Seconds = time.Since(r.report.Begun).Round(time.Millisecond).Seconds()
	hidden := *r.report
	if err := hidden.Hide(r.hidden); err != nil {
		return err
	}
	err := errors.Join(replace(r.file, hidden.Write),
		replace(pageFile(r.file), func(w io.Writer) error { return page(w, &hidden) }))
	if err != nil {
		return fmt.Errorf("the report cannot be written, and -report names another file: %w", err)
	}
	return nil
}

// pageFile returns the name of the page for people that goes with a report.
func pageFile(report string) string {
	return strings.TrimSuffix(strings.TrimSuffix(report, ".gz"), ".json") + ".html"
}

// replace writes a file, which has its old content or all of its new one, also after a power cut.
func replace(name string, content func(io.Writer) error) error {
	f, err := os.OpenFile(name+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(content(f), f.Sync(), f.Close()); err != nil {
		return errors.Join(fmt.Errorf("%s: %w", name, err), os.Remove(name+".new"))
	}
	return os.Rename(name+".new", name)
}

// The files of a run in which its tests write answers and recorded calls.
const (
	answersName = "answers.json"
	callsName   = "calls.jsonl"
)

// maxCalls is how many bytes of recorded calls a report has: compressed, it is to be small enough for an issue.
const maxCalls = 24 << 20

// collect takes the answers and the recorded calls into the report. A part that was ended leaves a torn line.
func (r *running) collect() {
	answers, err := os.ReadFile(filepath.Join(r.dir, answersName))
	var record struct{ Answers []proof.Answer }
	if err == nil {
		err = json.Unmarshal(answers, &record)
	}
	r.report.Answers = record.Answers
	calls, callsErr := os.ReadFile(filepath.Join(r.dir, callsName))
	r.report.Calls, r.report.CallsLeftOut = nil, 0
	size := 0
	for line := range bytes.Lines(calls) {
		switch size += len(line); {
		case !json.Valid(line):
		case size > maxCalls:
			r.report.CallsLeftOut++
		default:
			r.report.Calls = append(r.report.Calls, line)
		}
	}
	for _, err := range []error{err, callsErr} {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			r.print("  what was found cannot be read: %v", err)
		}
	}
}
