// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
)

// The levels, in the order of the page's columns.
const (
	pure         = "pure"
	emulated     = "emulated"
	wineEmulated = "wine-emulated"
	wineWindows  = "wine-windows"
	windows      = "windows"
)

func levels() []string { return []string{pure, emulated, wineEmulated, wineWindows, windows} }

// comparison is the test of client/versions that derives how each method relates to its hub's from the descriptors.
const comparison = "TestEveryMethodHasOnePlace"

// A record is what a test run proved.
type record struct {
	Level   string            `json:"level"`
	Date    string            `json:"date"`
	Commit  string            `json:"commit"`
	System  string            `json:"system"`
	Command string            `json:"command"`
	Methods map[string]string `json:"methods"` // by "group version Method": marks, or how the call ended
}

// makeRecord makes a level's record from the events of its tests. A failed test proves nothing, and any failure is an
// error: evidence comes from runs that passed.
func makeRecord(r record, events io.Reader) ([]byte, error) {
	run, err := readEvents(events)
	if err != nil {
		return nil, err
	}
	if len(run.failed) > 0 {
		return nil, fmt.Errorf("%d tests failed, the first of them %s", len(run.failed), run.failed[0])
	}
	for name, passed := range run.packages {
		if !passed {
			return nil, fmt.Errorf("the tests of %s failed", name)
		}
	}
	all, kinds, err := methods()
	if err != nil {
		return nil, err
	}
	switch r.Level {
	case pure:
		if !slices.Contains(run.passed, comparison) {
			return nil, fmt.Errorf("%s did not run", comparison)
		}
		r.Methods = map[string]string{}
		for m, kind := range kinds {
			r.Methods[m.String()] = kind
		}
	case emulated, wineEmulated:
		r.Methods = run.marks()
	case wineWindows:
		r.Methods = run.ended()
	case windows:
		r.Methods = map[string]string{}
		for name := range run.lived() {
			r.Methods[name] = "L"
		}
	default:
		return nil, fmt.Errorf("the level %q is not one of %s", r.Level, strings.Join(levels(), ", "))
	}
	if len(r.Methods) == 0 {
		return nil, errors.New("the tests that ran prove nothing about any method at this level")
	}
	if err := r.check(all); err != nil {
		return nil, err
	}
	content, err := json.MarshalIndent(r, "", "  ") // sorts the methods
	return append(content, '\n'), err
}

// check reports methods that were never released.
func (r record) check(all []method) error {
	for name := range r.Methods {
		if !slices.ContainsFunc(all, func(m method) bool { return m.String() == name }) {
			return fmt.Errorf("there is no method %q", name)
		}
	}
	return nil
}

// readRecords reads the records in a directory, by level.
func readRecords(dir fs.FS) (map[string]record, error) {
	names, err := fs.Glob(dir, "*.json")
	if err != nil {
		return nil, err
	}
	records := map[string]record{}
	for _, name := range names {
		content, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, err
		}
		var r record
		if err := json.Unmarshal(content, &r); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if r.Level != strings.TrimSuffix(name, ".json") || !slices.Contains(levels(), r.Level) {
			return nil, fmt.Errorf("%s is the record of the level %q", name, r.Level)
		}
		records[r.Level] = r
	}
	return records, nil
}
