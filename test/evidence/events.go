// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// An event is one line of go test -json.
// https://pkg.go.dev/cmd/test2json
type event struct{ Action, Package, Test, Output string }

// A fact is what a test that passed shows of a method.
type fact struct{ kind, method, how string }

var (
	// line matches what tests report: how a method relates to its group's hub, the methods that a life used (proved),
	// how a call on the machine itself ended, and what went well on a fake of what the machine lacks (faked).
	line = regexp.MustCompile(`(?m): (relates|proved|ended|faked): (\S+ \S+ \S+?)(?:: (.*\S))?\s*$`)
	// named matches conformance tests, whose names are what they show: disk_v1/ListDiskIDs_success.
	named = regexp.MustCompile(
		`^TestConformance/of/([a-z]+)_(v[0-9a-z]+)/([A-Za-z0-9]+)_(success|repeat|failure|hostile)$`)
)

// readEvents reads go test -json and returns what the tests show. Evidence comes from runs that passed, so any failure
// is an error, as are events that are cut off.
func readEvents(r io.Reader) (facts []fact, err error) {
	output, packages := map[string]string{}, 0
	for d := json.NewDecoder(r); ; {
		var e event
		if err := d.Decode(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("the events of go test: %w", err)
		}
		switch {
		case e.Action == "output" && e.Test != "":
			output[e.Test] += e.Output // it comes in pieces
		case e.Action == "fail":
			return nil, fmt.Errorf("a test failed: %s %s", e.Package, e.Test)
		case e.Action != "pass":
		case e.Test == "":
			packages++
		default:
			if m := named.FindStringSubmatch(e.Test); m != nil {
				facts = append(facts, fact{m[4], m[1] + " " + m[2] + " " + m[3], ""})
			}
			for _, m := range line.FindAllStringSubmatch(strings.ReplaceAll(output[e.Test], "\r", ""), -1) {
				facts = append(facts, fact{m[1], m[2], m[3]})
			}
		}
	}
	if packages == 0 {
		return nil, errors.New("no package ended: the input is cut off, or is not the output of go test -json")
	}
	return facts, nil
}

// marks returns the marks that facts give to methods.
func marks(facts []fact) map[string]string {
	all := map[string]string{}
	for _, m := range []struct{ kind, letter string }{
		{"success", "S"}, {"repeat", "R"}, {"failure", "F"}, {"hostile", "H"}, {"proved", "L"},
	} {
		for _, f := range facts {
			if f.kind == m.kind && !strings.HasSuffix(all[f.method], m.letter) {
				all[f.method] += m.letter
			}
		}
	}
	return all
}

// said returns how methods relate to their hub's, or how calls on the machine itself ended. A call that
// succeeded with a fake counts as such, unless it also succeeded without.
func said(facts []fact) map[string]string {
	all := map[string]string{}
	for _, kind := range []string{"relates", "ended", "faked"} {
		for _, f := range facts {
			if f.kind == kind && all[f.method] != "OK" {
				all[f.method] = f.how
			}
		}
	}
	return all
}
