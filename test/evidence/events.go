// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// An event is one line of go test -json.
// https://pkg.go.dev/cmd/test2json
type event struct{ Action, Package, Test, Output string }

// A testRun is the result of the events of test runs.
type testRun struct {
	passed, failed []string            // tests
	packages       map[string]bool     // those that ran, and whether they passed
	lines          map[string][]string // by test, those that match the patterns below
}

// The lines by which tests report what they saw: a life of test/conformance names the methods that it used, and the
// calls of test/operation on the machine itself report how each ended, and which went well when a fake stood in for
// what the machine lacks.
var (
	provedLine = regexp.MustCompile(`: proved: (\S+ \S+ \S+)\s*$`)
	endedLine  = regexp.MustCompile(`: ended: (\S+ \S+ \S+): (.*\S)\s*$`)
	fakedLine  = regexp.MustCompile(`: faked: (\S+ \S+ \S+): (OK, fake .*\S)\s*$`)
)

// readEvents reads go test -json. Lines that are not JSON are skipped where they are the go command's own, as those of
// a build; events that are cut off are an error.
func readEvents(r io.Reader) (*testRun, error) {
	run := &testRun{packages: map[string]bool{}, lines: map[string][]string{}}
	partial := map[string]string{} // output comes in pieces
	for d := json.NewDecoder(r); ; {
		var e event
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("the events of go test: %w", err)
		}
		switch e.Action {
		case "output":
			partial[e.Package+e.Test] += e.Output
			if text := partial[e.Package+e.Test]; strings.HasSuffix(text, "\n") {
				if provedLine.MatchString(text) || endedLine.MatchString(text) || fakedLine.MatchString(text) {
					run.lines[e.Test] = append(run.lines[e.Test], text)
				}
				delete(partial, e.Package+e.Test)
			}
		case "pass", "fail":
			passed := e.Action == "pass"
			switch {
			case e.Test == "":
				run.packages[e.Package] = passed
			case passed:
				run.passed = append(run.passed, e.Test)
			default:
				run.failed = append(run.failed, e.Test)
			}
		}
	}
	if len(run.packages) == 0 {
		return nil, errors.New("no package ended: the input is cut off, or is not the output of go test -json")
	}
	return run, nil
}

// marks returns the marks that conformance tests gave to a method: TestConformance/of/disk_v1/ListDiskIDs_success.
func (r *testRun) marks() map[string]string {
	name := regexp.MustCompile(
		`^TestConformance/of/([a-z]+)_(v[0-9a-z]+)/([A-Za-z0-9]+)_(success|repeat|failure|hostile)$`)
	given := map[string][]string{}
	for _, test := range r.passed {
		if m := name.FindStringSubmatch(test); m != nil {
			of := m[1] + " " + m[2] + " " + m[3]
			given[of] = append(given[of], strings.ToUpper(m[4][:1]))
		}
	}
	for of := range r.lived() {
		given[of] = append(given[of], "L")
	}
	marks := map[string]string{}
	for of, letters := range given {
		slices.SortFunc(letters, func(a, b string) int { return strings.Index(order, a) - strings.Index(order, b) })
		marks[of] = strings.Join(letters, "")
	}
	return marks
}

// order is the order of the marks.
const order = "SRFHL"

// lived returns the methods used by lives that went well.
func (r *testRun) lived() map[string]bool {
	used := map[string]bool{}
	for test, lines := range r.lines {
		if !slices.Contains(r.passed, test) {
			continue
		}
		for _, line := range lines {
			if m := provedLine.FindStringSubmatch(line); m != nil {
				used[m[1]] = true
			}
		}
	}
	return used
}

// ended returns how each call on the machine itself ended, from tests that passed. What went well with a fake counts
// as that, unless it also went well without.
func (r *testRun) ended() map[string]string {
	calls := r.reported(endedLine)
	for method, how := range r.reported(fakedLine) {
		if calls[method] != "OK" {
			calls[method] = how
		}
	}
	return calls
}

// reported returns what the lines of a pattern say of each method.
func (r *testRun) reported(pattern *regexp.Regexp) map[string]string {
	found := map[string]string{}
	for test, lines := range r.lines {
		if !slices.Contains(r.passed, test) {
			continue
		}
		for _, line := range lines {
			if m := pattern.FindStringSubmatch(line); m != nil {
				found[m[1]] = m[2]
			}
		}
	}
	return found
}
