// SPDX-License-Identifier: Apache-2.0

package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/proof"
)

// The output of a test program with -test.v=test2json, whose lines about tests begin with marker. cmd/test2json reads
// the same.
const marker = 0x16

// Of a test's output the last lines are kept, each of bounded length.
const (
	keptLines = 100
	keptBytes = 2000
)

var (
	// names matches a line that names the test whose output follows, or none; ends one of a test's end.
	names = regexp.MustCompile(`^=== [A-Z]+ +(\S*)`)
	ends  = regexp.MustCompile(`^\s*--- (PASS|FAIL|SKIP): (.+) \(([0-9.]+)s\)$`)
	where = regexp.MustCompile(`^\s*[\w.-]+\.go:\d+: `)
	// shows matches what a test reports of a method: that it was proved, or how a single call ended.
	shows = regexp.MustCompile(`: (proved|ended): (\S+ \S+ \S+?)(?:: (.*\S))?\s*$`)
)

// testOutput reads what a test program prints, and keeps its tests as checks. The zero value has read nothing.
type testOutput struct {
	checks  []*proof.Check
	current *proof.Check // the test that prints; nil: none
	loose   []string     // the last lines of none
	partial string       // a line that has not ended
	tell    func(*proof.Check)
}

// Write reads more.
func (o *testOutput) Write(text []byte) (int, error) {
	o.partial += string(text)
	for {
		line, rest, ended := strings.Cut(o.partial, "\n")
		if !ended && len(o.partial) < 1<<20 { // no line of a test is as long
			return len(text), nil
		}
		o.line(strings.TrimSuffix(line, "\r"))
		o.partial = rest
	}
}

// line reads a line. Output without an end of line may precede the marker.
func (o *testOutput) line(line string) {
	before, after, marked := strings.Cut(line, string(rune(marker)))
	if before != "" {
		o.said(before)
	}
	if m := ends.FindStringSubmatch(after); m != nil {
		o.end(o.test(m[2]), m[1], m[3])
		o.current = nil
	} else if m := names.FindStringSubmatch(after); m != nil {
		if o.current = nil; m[1] != "" {
			o.current = o.test(m[1])
		}
	} else if marked {
		o.said(after)
	}
}

// test returns the check of a test. It has failed until it is known to have ended otherwise: its program may end before
// it.
func (o *testOutput) test(name string) *proof.Check {
	i := slices.IndexFunc(o.checks, func(c *proof.Check) bool { return c.Test == name })
	if i < 0 {
		i = len(o.checks)
		o.checks = append(o.checks, &proof.Check{Test: name, Verdict: proof.Failed, Reason: "its program ended before it"})
	}
	return o.checks[i]
}

// said keeps what a test printed, and what it reports of methods.
func (o *testOutput) said(line string) {
	line = strings.ToValidUTF8(line, "?")
	if len(line) > keptBytes {
		line = strings.ToValidUTF8(line[:keptBytes], "") + " …"
	}
	if o.current == nil {
		o.loose = last(append(o.loose, line))
		return
	}
	c := o.current
	c.Output = last(append(c.Output, line))
	if m := shows.FindStringSubmatch(line); m != nil {
		if c.Methods == nil {
			c.Methods = map[string]string{}
		}
		if c.Methods[m[2]] = m[3]; m[1] == "proved" {
			c.Methods[m[2]] = m[1]
		}
	}
}

func last(lines []string) []string { return lines[max(0, len(lines)-keptLines):] }

// end gives a test its verdict. Only a failure's output is kept.
func (o *testOutput) end(c *proof.Check, verdict, seconds string) {
	c.Seconds, _ = strconv.ParseFloat(seconds, 64)
	c.Reason = lastSaid(c.Output)
	switch verdict {
	case "PASS":
		c.Verdict, c.Reason, c.Output = proof.Held, "", nil
	case "SKIP":
		c.Verdict, c.Output = proof.Unavailable, nil
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
	if o.partial != "" {
		o.line(o.partial)
		o.partial = ""
	}
	for _, c := range o.checks {
		checks = append(checks, *c)
	}
	return checks, o.loose
}
