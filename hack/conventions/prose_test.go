// SPDX-License-Identifier: Apache-2.0

package conventions_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// banned are words for which plain English names the thing.
var banned = regexp.MustCompile(`\b([Ff]or ever|[Ss]omebody|[Ww]hoever|[Nn]obody|[Ee]verybody|[Ww]homever)\b`)

// These bound the words of parts: of all documents that are not generated, of the decisions, of the API reference.
const maxTotal, maxDecisions, maxReference = 25750, 3250, 8150

// TestWordsArePlain: no source, but for tests, and no document has a banned word. A sentence is a reviewer's business.
func TestWordsArePlain(t *testing.T) {
	inRoot(t)
	allowed := []string{
		"docs/differences.md for ever", "docs/runbook.md for ever",
		"internal/agent/transport/security_windows.go everybody", // names Windows' own Everyone
	}
	files := documents(t)
	for _, sources := range goFiles(t) {
		files = append(files, sources...)
	}
	for _, file := range files {
		content := read(t, file)
		name := filepath.ToSlash(file)
		head := content[:min(len(content), 200)]
		if strings.HasSuffix(name, "_test.go") || strings.Contains(head, "Code generated") {
			continue
		}
		for _, word := range banned.FindAllString(content, -1) {
			if !slices.Contains(allowed, name+" "+word) {
				t.Errorf("%s: it has %q: name the thing instead", file, word)
			}
		}
	}
}

func TestDocumentsAreShort(t *testing.T) {
	inRoot(t)
	total, decisions := 0, 0
	for _, file := range documents(t) {
		name, words := filepath.ToSlash(file), wordsOf(t, file)
		if total += words; words > maxPage(name) {
			t.Errorf("%s: it has %d words, want at most %d", file, words, maxPage(name))
		}
		if strings.HasPrefix(name, "docs/decisions/") {
			decisions += words
		}
	}
	reference := 0
	pages, err := filepath.Glob("docs/apis/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range pages {
		reference += wordsOf(t, page)
	}
	if total > maxTotal || decisions > maxDecisions || reference > maxReference {
		t.Errorf("the documents have %d words, the decisions %d, the API reference %d, want at most %d, %d, %d", total,
			decisions, reference, maxTotal, maxDecisions, maxReference)
	}
}

// wordsOf counts the words of a page but for the generated keys of scenario files.
func wordsOf(t *testing.T, file string) int {
	t.Helper()
	before, keys, _ := strings.Cut(read(t, file), "<!-- keys -->")
	_, after, _ := strings.Cut(keys, "<!-- end of keys -->")
	return len(strings.Fields(before)) + len(strings.Fields(after))
}

// documents returns the pages that are written by hand.
func documents(t *testing.T) (pages []string) {
	t.Helper()
	for _, file := range ownFiles(t) {
		name := filepath.ToSlash(file)
		if filepath.Ext(file) != ".md" || name == "CHANGELOG.md" || name == "CODE_OF_CONDUCT.md" {
			continue
		}
		content := read(t, file)
		if first, _, _ := strings.Cut(content, "\n"); !strings.Contains(first, "enerated") {
			pages = append(pages, file)
		}
	}
	return pages
}

// maxPage bounds the words of a page.
func maxPage(name string) int {
	switch {
	case name == "docs/decisions/limits.md": // three decisions
		return 550
	case strings.HasPrefix(name, "docs/decisions/"):
		return 250
	}
	return 2500
}
