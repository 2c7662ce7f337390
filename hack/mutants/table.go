// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// A mutant is one change of one file, and how it is found out. In a table it is a paragraph:
//
//	mutant: a process may have one connection too many
//	file: internal/admission/clients.go
//	 	var victim *Conn
//	-	case len(client.conns) > cs.limits.ClientConnections:
//	+	case len(client.conns) > cs.limits.ClientConnections+1:
//	test: internal/admission TestConnectionsOfOneProcess
//
// The lines of the change are those of a diff; a line @@ begins a change at another place of the file. Their indentation
// does not matter. A line of the paragraph that begins with # is a comment. Instead of tests, a mutant may have
//
//	equivalent: why the change makes no difference to anybody
//	unseen: why no test that can run here notices it
//
// or, for Windows' code, tests that Wine runs: "wine: internal/transport TestClosing".
type mutant struct {
	title      string
	file       string // with slashes, from the top of the repository
	changes    []change
	tests      []trial
	equivalent string
	unseen     string
	where      string // the table's file and line
}

// A change is lines that are replaced by others.
type change struct{ old, new []string }

// A trial is tests of one package that must fail.
type trial struct {
	folder  string // of the package
	pattern string // names of tests, with | between them; after a /, those of their subtests
	wine    bool
}

// names returns the names of the tests.
func (t trial) names() []string {
	names, _, _ := strings.Cut(t.pattern, "/")
	return strings.Split(names, "|")
}

// expression returns the pattern as the go command takes it.
func (t trial) expression() string {
	return "^(" + strings.ReplaceAll(t.pattern, "/", ")$/^(") + ")$"
}

// readTables reads the tables of a directory.
func readTables(dir string) ([]mutant, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.txt"))
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		some, err := parseTable(filepath.Base(file), string(text))
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

func parseTable(name, text string) (all []mutant, err error) {
	var m *mutant
	end := func() error {
		if m == nil {
			return nil
		}
		if err := m.check(); err != nil {
			return fmt.Errorf("%s: %q %w", m.where, m.title, err)
		}
		all, m = append(all, *m), nil
		return nil
	}
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\r\n")
		where := fmt.Sprintf("%s:%d", name, number)
		title, begins := strings.CutPrefix(line, "mutant: ")
		switch {
		case strings.HasPrefix(line, "#"):
		case line == "" || begins:
			if err := end(); err != nil {
				return nil, err
			}
			if begins {
				m = &mutant{title: title, where: where}
			}
		case m == nil:
			return nil, fmt.Errorf("%s: %q is in a paragraph that does not begin with \"mutant:\"", where, line)
		default:
			if err := m.add(line); err != nil {
				return nil, fmt.Errorf("%s: %w", where, err)
			}
		}
	}
	return all, end()
}

// add takes one line of a mutant's paragraph.
func (m *mutant) add(line string) error {
	if strings.ContainsRune("-+ \t", rune(line[0])) && len(m.changes) == 0 || line == "@@" {
		m.changes = append(m.changes, change{})
	}
	switch line[0] {
	case '-', '+', ' ', '\t':
		c := &m.changes[len(m.changes)-1]
		if line[0] != '+' {
			c.old = append(c.old, line[1:])
		}
		if line[0] != '-' {
			c.new = append(c.new, line[1:])
		}
		return nil
	case '@':
		return nil
	}
	key, value, _ := strings.Cut(line, ": ")
	switch key {
	case "file":
		m.file = value
	case "equivalent":
		m.equivalent = value
	case "unseen":
		m.unseen = value
	case "test", "wine":
		folder, pattern, ok := strings.Cut(value, " ")
		if !ok {
			return fmt.Errorf("%q is not a package and its tests", value)
		}
		m.tests = append(m.tests, trial{folder, pattern, key == "wine"})
	default:
		return fmt.Errorf("%q is not a line of a mutant", line)
	}
	return nil
}

func (m *mutant) check() error {
	outcomes := 0
	for _, one := range []bool{len(m.tests) > 0, m.equivalent != "", m.unseen != ""} {
		if one {
			outcomes++
		}
	}
	switch {
	case m.file == "" || len(m.changes) == 0 || slices.ContainsFunc(m.changes, func(c change) bool { return len(c.old) == 0 }):
		return fmt.Errorf("changes nothing")
	case outcomes != 1:
		return fmt.Errorf("needs tests, or a reason why there are none")
	}
	return nil
}

// apply returns the mutated text of the mutant's file.
func (m *mutant) apply(source string) (string, error) {
	lines := strings.Split(source, "\n")
	for _, c := range m.changes {
		places := c.places(lines)
		switch len(places) {
		case 0:
			return "", fmt.Errorf("%s: its lines are not in %s any more", m.where, m.file)
		case 1:
			lines = slices.Replace(lines, places[0], places[0]+len(c.old), c.new...)
		default:
			return "", fmt.Errorf("%s: its lines are more than once in %s", m.where, m.file)
		}
	}
	return strings.Join(lines, "\n"), nil
}

// places returns the indexes of the lines at which the old ones begin.
func (c change) places(lines []string) (found []int) {
	same := func(a, b string) bool { return strings.TrimSpace(a) == strings.TrimSpace(b) }
	for i := range len(lines) - len(c.old) + 1 {
		if slices.EqualFunc(lines[i:i+len(c.old)], c.old, same) {
			found = append(found, i)
		}
	}
	return found
}
