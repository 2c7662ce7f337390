// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/proof"
)

// The output of a test program with -test.v=test2json, whose lines about tests begin with marker. cmd/test2json reads
// the same.
const marker = 0x16

// What is kept of a test's output: the last lines, each of bounded length.
const (
	keptLines = 100
	keptBytes = 2000
)

var (
	ended  = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): (.+) \(([0-9.]+)s\)$`)
	told   = regexp.MustCompile(`^=== (RUN|CONT|NAME|PAUSE) +(\S.*)?$`)
	where  = regexp.MustCompile(`^\s*[\w.-]+\.go:\d+: `)
	proved = regexp.MustCompile(`: proved: (\S+ \S+ \S+)\s*$`)
	called = regexp.MustCompile(`: ended: (\S+ \S+ \S+): (.*\S)\s*$`)
)

// testOutput reads what a test program prints, and keeps its tests as checks. The zero value has read nothing.
type testOutput struct {
	checks  []*proof.Check
	byName  map[string]*proof.Check
	current string   // the test that prints; "": none
	loose   []string // the last lines of none
	partial []byte   // a line that has not ended
	tell    func(*proof.Check)
}

// Write reads more.
func (o *testOutput) Write(text []byte) (int, error) {
	o.partial = append(o.partial, text...)
	for {
		i := bytes.IndexByte(o.partial, '\n')
		if i < 0 {
			if len(o.partial) > 1<<20 { // no line of a test is as long
				o.line(string(o.partial))
				o.partial = nil
			}
			return len(text), nil
		}
		o.line(strings.TrimSuffix(string(o.partial[:i]), "\r"))
		o.partial = o.partial[i+1:]
	}
}

// line reads a line. What a test printed without an end of line may stand before the marker.
func (o *testOutput) line(line string) {
	before, about, marked := strings.Cut(line, string(rune(marker)))
	if before != "" {
		o.said(before)
	}
	if !marked {
		return
	}
	if m := ended.FindStringSubmatch(about); m != nil {
		o.end(m[2], m[1], m[3])
		o.current = ""
		return
	}
	m := told.FindStringSubmatch(about)
	switch {
	case m == nil:
		o.said(about)
	case m[1] == "PAUSE":
		o.current = ""
	default:
		o.current = m[2]
		if o.current != "" {
			o.test(o.current)
		}
	}
}

// test returns the check of a test. It has failed until it is known to have ended otherwise: its program may end before
// it.
func (o *testOutput) test(name string) *proof.Check {
	if o.byName[name] == nil {
		if o.byName == nil {
			o.byName = map[string]*proof.Check{}
		}
		c := &proof.Check{Test: name, Verdict: proof.Failed, Reason: "its program ended before it"}
		o.byName[name] = c
		o.checks = append(o.checks, c)
	}
	return o.byName[name]
}

// said keeps what a test printed, and what it reports of methods.
func (o *testOutput) said(line string) {
	line = strings.ToValidUTF8(line, "?")
	if len(line) > keptBytes {
		line = strings.ToValidUTF8(line[:keptBytes], "") + " …"
	}
	if o.current == "" {
		o.loose = last(append(o.loose, line))
		return
	}
	c := o.test(o.current)
	c.Output = last(append(c.Output, line))
	method, how := "", "proved"
	if m := proved.FindStringSubmatch(line); m != nil {
		method = m[1]
	} else if m := called.FindStringSubmatch(line); m != nil {
		method, how = m[1], m[2]
	}
	if method != "" {
		if c.Methods == nil {
			c.Methods = map[string]string{}
		}
		c.Methods[method] = how
	}
}

func last(lines []string) []string { return lines[max(0, len(lines)-keptLines):] }

// end gives a test its verdict. Only a failure's output is kept.
func (o *testOutput) end(name, verdict, seconds string) {
	c := o.test(name)
	c.Seconds, _ = strconv.ParseFloat(seconds, 64)
	c.Reason = ""
	switch verdict {
	case "PASS":
		c.Verdict, c.Output = proof.Held, nil
	case "SKIP":
		c.Verdict, c.Reason, c.Output = proof.NotHere, lastSaid(c.Output), nil
	default:
		c.Reason = lastSaid(c.Output)
	}
	if o.tell != nil {
		o.tell(c)
	}
}

// lastSaid returns the last line that a test printed, without the place in its source.
func lastSaid(output []string) string {
	for _, line := range slices.Backward(output) {
		if text := strings.TrimSpace(where.ReplaceAllString(line, "")); text != "" {
			return text
		}
	}
	return ""
}

// result returns the checks, and the last lines that belong to no test.
func (o *testOutput) result() (checks []proof.Check, loose []string) {
	if len(o.partial) > 0 {
		o.line(string(o.partial))
		o.partial = nil
	}
	for _, c := range o.checks {
		checks = append(checks, *c)
	}
	return checks, o.loose
}
