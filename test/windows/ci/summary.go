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
// https://pkg.go.dev/cmd/test2json and, of builds, go help buildjson
type event struct {
	Action      string
	Package     string
	ImportPath  string // in place of Package, in what go build says
	Test        string
	Output      string
	FailedBuild string // the ImportPath of the build that a package failed for
}

type summary struct{ passed, failed, skipped int }

// summarize counts the tests of go test -json, and prints the output of failed tests and of the compiler, and the
// reasons of skipped tests.
func summarize(events io.Reader, w io.Writer) (summary, error) {
	var sum summary
	said, built := map[string]*strings.Builder{}, map[string]*strings.Builder{}
	add := func(to map[string]*strings.Builder, name, text string) {
		if to[name] == nil {
			to[name] = &strings.Builder{}
		}
		_, _ = to[name].WriteString(text)
	}
	for decoder := json.NewDecoder(events); ; {
		var e event
		if err := decoder.Decode(&e); errors.Is(err, io.EOF) {
			return sum, nil
		} else if err != nil {
			return sum, fmt.Errorf("the output of go test: %w", err)
		}
		name := e.Package + " " + e.Test
		switch e.Action {
		case "output":
			add(said, name, e.Output)
			continue
		case "build-output":
			add(built, e.ImportPath, e.Output)
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
		if b := built[e.FailedBuild]; b != nil { // because of which several packages may have failed
			text = b.String() + text
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
