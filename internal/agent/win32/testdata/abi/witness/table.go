// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

// A table is headers.txt. Its lines begin with one of these words:
//
//	const GO EXPRESSION       a Go constant and its value in C
//	struct GO NAME FIELD…     a Go structure, and the C structure with its fields in the same order; GO=C where names differ
//	own GO REASON             a Go declaration that Windows never sees
//	lack NAME SOURCE          the headers lack NAME; its declaration follows SOURCE
//	differ CLAIM REASON       the headers declare it otherwise
type table struct {
	path string
	rows map[string]map[string]string // word, subject, rest
	used map[string]bool              // "word subject"
}

func readTable(path string) (*table, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	t := &table{path, map[string]map[string]string{"const": {}, "struct": {}, "own": {}, "lack": {}, "differ": {}},
		map[string]bool{}}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		subject, rest, _ := strings.Cut(strings.TrimSpace(rest), " ")
		rest = strings.TrimSpace(rest)
		if rows, ok := t.rows[word]; !ok || rest == "" {
			return nil, fmt.Errorf("%s: cannot understand %q", path, line)
		} else if _, again := rows[subject]; again {
			return nil, fmt.Errorf("%s: %s %s is there twice", path, word, subject)
		}
		t.rows[word][subject] = rest
	}
	return t, nil
}

// use reports whether the table has a row, and remembers that it was needed.
func (t *table) use(word, subject string) bool {
	_, ok := t.rows[word][subject]
	t.used[word+" "+subject] = ok
	return ok
}

// listed reports whether the table excuses a claim about something in C, or about all of its structure.
func (t *table) listed(word, claim string) bool {
	return t.use(word, claim) || t.use(word, owner(claim))
}

var structured = regexp.MustCompile(`^(?:(?:sizeof|offsetof)\()?(\w+)`)

// owner returns the structure or function that a claim is about.
func owner(claim string) string {
	if m := structured.FindStringSubmatch(claim); m != nil {
		return m[1]
	}
	return claim
}

// unused returns a complaint for each row that nothing needed: its declaration is gone, or the headers have it by now.
func (t *table) unused() (complaints []string) {
	for _, word := range slices.Sorted(maps.Keys(t.rows)) {
		for _, subject := range slices.Sorted(maps.Keys(t.rows[word])) {
			if t.used[word+" "+subject] {
				continue
			}
			why := "Go declares nothing of this name"
			switch word {
			case "lack":
				why = "the headers have it, or nothing here declares it"
			case "differ":
				why = "the headers agree, or nothing here declares it"
			}
			complaints = append(complaints, fmt.Sprintf("%s: the line \"%s %s\" is wrong: %s", t.path, word, subject, why))
		}
	}
	return complaints
}
