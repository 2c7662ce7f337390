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

// A level is a way to run the tests, and a column of the page.
type level struct {
	name, title string
	results     func([]fact) map[string]string
}

func levels() []level {
	return []level{
		{"pure", "pure", said}, {"emulated", "emulated", marks}, {"wine-emulated", "Wine, pipes", marks},
		{"wine-windows", "Wine, kernel", said},
	}
}

// A record is what a test run proved, or a report of csi-proxy-prove.
type record struct {
	Level   string            `json:"level"`
	Date    string            `json:"date"`
	Commit  string            `json:"commit"`
	System  string            `json:"system"`
	Command string            `json:"command"`
	Methods map[string]string `json:"methods"` // by "group version Method": marks, or how the call ended
}

// makeRecord makes a level's record from the events of its tests.
func makeRecord(r record, events io.Reader) ([]byte, error) {
	facts, err := readEvents(events)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(levels(), func(l level) bool { return l.name == r.Level })
	if at < 0 {
		return nil, fmt.Errorf("there is no level %q", r.Level)
	}
	if r.Methods = levels()[at].results(facts); len(r.Methods) == 0 {
		return nil, errors.New("the tests that ran prove nothing about any method at this level")
	}
	content, err := json.MarshalIndent(r, "", "  ") // sorts the methods
	return append(content, '\n'), err
}

// readRecord reads the record of a level. One that does not exist is empty.
func readRecord(dir fs.FS, name string) (r record, err error) {
	content, err := fs.ReadFile(dir, name+".json")
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(content, &r)
	}
	if err == nil && r.Level != name {
		err = fmt.Errorf("it is the record of the level %q", r.Level)
	}
	return r, err
}

// run returns the record's row in the table of runs.
func (r record) run(title string, total int) run {
	if r.Level == "" {
		return run{Title: title, Count: fmt.Sprintf("0 of %d", total), Date: "never run"}
	}
	proved, faked := 0, 0
	for _, result := range r.Methods {
		if strings.HasPrefix(result, "OK, fake ") {
			faked++
		}
		if r.Level != "wine-windows" || strings.HasPrefix(result, "OK") {
			proved++
		}
	}
	count := fmt.Sprintf("%d of %d", proved, total)
	if faked > 0 {
		count += fmt.Sprintf(", %d with a fake", faked)
	}
	return run{title, count, r.Date, r.Commit, r.System, r.Command}
}
