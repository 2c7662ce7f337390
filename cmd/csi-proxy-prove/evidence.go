// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/proof"
	"github.com/kubernetes-csi/csi-proxy/test/windows"
)

// The files of a run with what it found so far. Their content is redacted only when a report is written.
const (
	stateName   = "state.json" // the report without answers and calls
	answersName = "answers.json"
)

const nothingAfter = "it was begun, and nothing came after: the kit or the machine stopped"

// save writes down what was found so far and which part begins. After a power cut, the next start makes a report of it.
func (r *running) save(begun ...proof.Part) error {
	state := *r.report
	state.Interrupted = true
	state.Parts = slices.Concat(state.Parts, begun)
	content, err := json.Marshal(state)
	if err != nil {
		return err
	}
	return replace(filepath.Join(r.dir, stateName), func(w io.Writer) error { _, err := w.Write(content); return err })
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

// salvage writes the report of each run that was stopped before it wrote one, beside that of this run, and removes its
// directory.
func (r *running) salvage(m machine, o options, file string) error {
	earlier, err := filepath.Glob(filepath.Join(r.base, runPrefix+"*"))
	if err != nil {
		return err
	}
	for i, dir := range earlier {
		report := &proof.Report{}
		state, err := os.ReadFile(filepath.Join(dir, stateName))
		if err == nil {
			err = json.Unmarshal(state, report)
		}
		switch {
		case errors.Is(err, fs.ErrNotExist): // it had not begun, or its report was written
		case err != nil:
			r.print("What an earlier run found cannot be read: %v", err)
		default:
			r.collect(report, dir)
			name := fmt.Sprintf("%s-earlier-%s-%d.json.gz", strings.TrimSuffix(strings.TrimSuffix(file, ".gz"), ".json"),
				report.Begun.Format("20060102-150405"), i+1)
			if _, err := publish(report, m, o, name); err != nil {
				return fmt.Errorf("cannot write the report of an earlier run, in %s: %w", dir, err)
			}
			r.print("An earlier run was stopped. What it had found: %s", name)
		}
		if err := removeAll(dir); err != nil {
			return err
		}
	}
	return nil
}

// publish writes a report, and its page, without what is hidden. It returns the report as it was written.
func publish(report *proof.Report, m machine, o options, file string) (*proof.Report, error) {
	hidden := *report
	h := m.hidden
	h.Serials, h.Own = []string{m.machineSerial}, windows.MadeHere
	if o.hashSerials {
		h.Serials, h.HashDisks = append(h.Serials, m.diskSerials...), true
	}
	if err := hidden.Hide(h); err != nil {
		return nil, err
	}
	if err := replace(file, hidden.Write); err != nil {
		return nil, err
	}
	return &hidden, replace(pageFile(file), func(w io.Writer) error { return page(w, &hidden) })
}

// maxCalls is how many bytes of recorded calls a report has: compressed, it is to be small enough for an issue.
const maxCalls = 24 << 20

// collect takes the answers and the recorded calls from the files of a run into its report. A part that was ended
// leaves a torn line.
func (k *kit) collect(report *proof.Report, dir string) {
	if text, err := os.ReadFile(filepath.Join(dir, answersName)); err == nil {
		var record struct{ Answers []proof.Answer }
		if err := json.Unmarshal(text, &record); err != nil {
			k.print("  the answers cannot be read: %v", err)
		}
		report.Answers = record.Answers
	}
	bytes := 0
	for _, p := range report.Parts { // in their order
		if err := collectCalls(report, filepath.Join(dir, "calls-"+p.Name+".jsonl"), &bytes); err != nil &&
			!errors.Is(err, fs.ErrNotExist) {
			k.print("  the recorded calls cannot be read: %v", err)
		}
	}
}

func collectCalls(report *proof.Report, name string, bytes *int) error {
	file, err := os.Open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		switch {
		case len(lines.Bytes()) == 0 || !json.Valid(lines.Bytes()):
		case *bytes+len(lines.Bytes()) > maxCalls:
			report.CallsLeftOut++
		default:
			*bytes += len(lines.Bytes())
			report.Calls = append(report.Calls, slices.Clone(lines.Bytes()))
		}
	}
	return lines.Err()
}
