// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// An event is one line of go test -json.
// https://pkg.go.dev/cmd/test2json
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

type summary struct{ passed, failed, skipped int }

// summarize counts the tests of go test -json, and prints what the failed ones said and why others were skipped.
func summarize(events io.Reader, w io.Writer) (summary, error) {
	var sum summary
	said := map[string]*strings.Builder{}
	for decoder := json.NewDecoder(events); ; {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			return sum, nil
		} else if err != nil {
			return sum, fmt.Errorf("the output of go test: %w", err)
		}
		name := e.Package + " " + e.Test
		switch e.Action {
		case "output", "build-output":
			if said[name] == nil {
				said[name] = &strings.Builder{}
			}
			_, _ = said[name].WriteString(e.Output)
			continue
		case "pass", "fail", "skip":
		default:
			continue
		}
		text := ""
		if said[name] != nil {
			text = said[name].String()
			delete(said, name)
		}
		switch {
		case e.Action == "fail":
			if e.Test != "" {
				sum.failed++
			}
			_, _ = fmt.Fprintf(w, "FAILED %s\n%s", name, text)
		case e.Test == "":
		case e.Action == "pass":
			sum.passed++
		default:
			sum.skipped++
			_, _ = fmt.Fprintf(w, "skipped %s\n%s", name, text)
		}
	}
}
