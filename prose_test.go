// SPDX-License-Identifier: Apache-2.0

package conventions_test

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// banned are words for which plain English names the thing, and openings that hide the subject of a sentence.
	banned = regexp.MustCompile(`\b([Ff]or ever|[Ss]omebody|[Ww]hoever|[Nn]obody|[Ee]verybody|[Ww]homever)\b|` +
		`(^|[.;:!?] )(Who|Whose|Who's|What(ever)?) [a-z ]+[^?]$`)
	// notYetPlain are files that still have banned words. Take an entry out once its files have none.
	notYetPlain = regexp.MustCompile(`^client/(api|groups)/nodesteps/`)
	// allowed are the exceptions, at most twenty: a file and the words, or a document with a long sentence.
	allowed = []string{
		"docs/csi-proxyctl.md nobody", "docs/differences.md for ever",
		"docs/runbook.md for ever",
	}
	fences = regexp.MustCompile("(?ms)^[ \t]*```.*?\n[ \t]*```[ \t]*$|^[ \t]*\\|[^\n]*$|^#[^\n]*$|<[^>]*>")
	ends   = regexp.MustCompile(`[.!?:;]["')\]]*\s+|\n\s*\n|\n\s*([-*]|\d+\.)\s+`)
)

// maxWords bounds the sentences of documents.
const maxWords = 25

func TestCommentsArePlain(t *testing.T) {
	if len(allowed) > 20 {
		t.Errorf("%d exceptions, want at most 20", len(allowed))
	}
	for folder, files := range goFiles(t) {
		for _, file := range files {
			if notYetPlain.MatchString(filepath.ToSlash(folder) + "/") {
				continue
			}
			set := token.NewFileSet()
			parsed, err := parser.ParseFile(set, file, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, group := range parsed.Comments {
				text := strings.Join(strings.Fields(group.Text()), " ")
				word := banned.FindString(text)
				if word != "" && !slices.Contains(allowed, filepath.ToSlash(file)+" "+word) {
					t.Errorf("%s: a comment has %q: name the thing instead", set.Position(group.Pos()), word)
				}
			}
		}
	}
}

func TestSentencesOfDocumentsAreShort(t *testing.T) {
	for _, file := range ownFiles(t) {
		name := filepath.ToSlash(file)
		if filepath.Ext(file) != ".md" || name == "CHANGELOG.md" || name == "CODE_OF_CONDUCT.md" {
			continue
		}
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(strings.SplitN(string(content), "\n", 2)[0], "enerated") {
			continue
		}
		if word := banned.FindString(string(content)); word != "" && len(strings.Fields(word)) < 3 &&
			!slices.Contains(allowed, name+" "+word) {
			t.Errorf("%s: it has %q: name the thing instead", file, word)
		}
		for _, sentence := range ends.Split(fences.ReplaceAllString(string(content), "\n\n"), -1) {
			if n := len(strings.Fields(sentence)); n > maxWords {
				t.Errorf("%s: a sentence has %d words, want at most %d: %s", file, n, maxWords,
					strings.Join(strings.Fields(sentence), " "))
			}
		}
	}
}
