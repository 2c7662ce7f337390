// SPDX-License-Identifier: Apache-2.0

package conventions_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var (
	// banned are words for which plain English names the thing.
	banned = regexp.MustCompile(`\b([Ff]or ever|[Ss]omebody|[Ww]hoever|[Nn]obody|[Ee]verybody|[Ww]homever)\b`)
	// clause is a sentence that begins with a clause in place of its subject; the group is its beginning.
	clause = regexp.MustCompile(`(?:^|[.;:!?] )((?:Who|Whose|What) [^ ]+)[^.:?!]*(?:[.:]|$)`)
	// clausesLeft are folders whose comments still have such sentences.
	clausesLeft = regexp.MustCompile(`^internal/emulated/doctor/`)
	// notYetPlain are files that still have banned words. Take an entry out once its files have none.
	notYetPlain = regexp.MustCompile(`^client/(api|groups)/nodesteps/`)
	// allowed are the exceptions, at most twenty: a file and the words or the message.
	allowed = []string{
		"docs/differences.md for ever", "docs/runbook.md for ever",
		"internal/agent/transport/security_windows.go %q has no access control list (D:…), which would let everybody in",
		"internal/agent/transport/socketdir_unix.go %s is a symbolic link, which the agent never makes; see who did, and remove it",
		// Entries of the Event Log are whole sentences.
		"internal/agent/winservice/loop.go CSI Proxy is running.", "internal/agent/winservice/loop.go CSI Proxy stopped.",
	}
	fences = regexp.MustCompile("(?ms)^[ \t]*```.*?\n[ \t]*```[ \t]*$|^[ \t]*\\|[^\n]*$|^#[^\n]*$|<[^>]*>")
	ends   = regexp.MustCompile(`[.!?:;]["')\]]*\s+|\n\s*\n|\n\s*([-*]|\d+\.)\s+`)
)

// Bounds of words: in a sentence of a document, and in all documents that are not generated.
const maxWords, maxTotal = 25, 38000

func TestCommentsArePlain(t *testing.T) {
	if len(allowed) > 20 {
		t.Errorf("%d exceptions, want at most 20", len(allowed))
	}
	forEachGoFile(t, parser.ParseComments, func(set *token.FileSet, name string, file *ast.File) {
		if notYetPlain.MatchString(name) {
			return
		}
		for _, group := range file.Comments {
			text := strings.Join(strings.Fields(group.Text()), " ")
			for _, word := range banned.FindAllString(text, -1) {
				if !slices.Contains(allowed, name+" "+word) {
					t.Errorf("%s: a comment has %q: name the thing instead", set.Position(group.Pos()), word)
				}
			}
			for _, found := range clause.FindAllStringSubmatch(text, -1) {
				if !clausesLeft.MatchString(name) {
					t.Errorf("%s: a sentence begins with %q: name its subject", set.Position(group.Pos()), found[1])
				}
			}
		}
	})
}

func forEachGoFile(t *testing.T, mode parser.Mode, visit func(set *token.FileSet, name string, file *ast.File)) {
	t.Helper()
	for _, files := range goFiles(t) {
		for _, name := range files {
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, name, nil, mode)
			if err != nil {
				t.Fatal(err)
			}
			visit(set, filepath.ToSlash(name), file)
		}
	}
}

func TestDocumentsAreShort(t *testing.T) {
	total := 0
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
		for _, word := range banned.FindAllString(string(content), -1) {
			if !slices.Contains(allowed, name+" "+word) {
				t.Errorf("%s: it has %q: name the thing instead", file, word)
			}
		}
		words := len(strings.Fields(string(content)))
		if total += words; words > maxPage(name) {
			t.Errorf("%s: it has %d words, want at most %d", file, words, maxPage(name))
		}
		text := fences.ReplaceAllString(string(content), "\n\n")
		for _, found := range clause.FindAllStringSubmatch(strings.Join(strings.Fields(text), " "), -1) {
			t.Errorf("%s: a sentence begins with %q: name its subject", file, found[1])
		}
		for _, sentence := range ends.Split(text, -1) {
			if n := len(strings.Fields(sentence)); n > maxWords {
				t.Errorf("%s: a sentence has %d words, want at most %d: %s", file, n, maxWords,
					strings.Join(strings.Fields(sentence), " "))
			}
		}
	}
	if total > maxTotal {
		t.Errorf("the documents have %d words, want at most %d", total, maxTotal)
	}
}

// maxPage bounds the words of a page.
func maxPage(name string) int {
	switch {
	case name == "docs/decisions/limits.md": // pages on one subject, merged
		return 900
	case strings.HasPrefix(name, "docs/decisions/"):
		return 250
	}
	return 4000
}

var (
	// messageCalls make errors or log lines; the first text among their arguments is the message.
	messageCalls = regexp.MustCompile(`^((Wrap)?Errorf|New|Error|ErrorS|Info|Infof|InfoS|Warning|Warningf)$`)
	riddles      = regexp.MustCompile(`\b(who|whom)\b|^(what|whatever|whose) `)
	// capital is a first word that is no name: names have a second capital letter or a digit, as LUN and GetAce have.
	capital = regexp.MustCompile(`^[A-Z][a-z]*[^A-Za-z0-9_]`)
	proper  = regexp.MustCompile(`^(Windows|Wine)\b`)
)

// Errors are read in a chain, so they begin in lower case. No message ends in a full stop.
func TestMessagesArePlain(t *testing.T) {
	forEachGoFile(t, parser.SkipObjectResolution, func(set *token.FileSet, name string, file *ast.File) {
		if strings.HasSuffix(name, "_test.go") {
			return
		}
		ast.Inspect(file, func(node ast.Node) bool {
			call, ok := node.(*ast.CallExpr)
			if !ok {
				return true
			}
			function, text := message(call)
			if slices.Contains(allowed, name+" "+text) {
				return true
			}
			if word := banned.FindString(text) + riddles.FindString(text); word != "" {
				t.Errorf("%s: the message %q has %q: name the thing instead", set.Position(call.Pos()), text, word)
			}
			isError := strings.HasSuffix(function, "Errorf") || function == "New"
			if isError && capital.MatchString(text) && !proper.MatchString(text) {
				t.Errorf("%s: the error %q begins with a capital letter", set.Position(call.Pos()), text)
			}
			if strings.HasSuffix(text, ".") && !strings.HasSuffix(text, "...") {
				t.Errorf("%s: the message %q ends in a full stop", set.Position(call.Pos()), text)
			}
			return true
		})
	})
}

// message returns the name of the function that a call calls, and the message, or nothing if it takes none.
func message(call *ast.CallExpr) (function, text string) {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		function = f.Name
	case *ast.SelectorExpr:
		function = f.Sel.Name
	}
	if !messageCalls.MatchString(function) {
		return function, ""
	}
	for _, argument := range call.Args {
		ast.Inspect(argument, func(node ast.Node) bool {
			if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				part, _ := strconv.Unquote(literal.Value)
				text += part
			}
			_, nested := node.(*ast.CallExpr) // a message of its own
			return !nested
		})
		if text != "" {
			break
		}
	}
	return function, strings.TrimSpace(text)
}
