// SPDX-License-Identifier: Apache-2.0

//go:build unix

package test_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// guidesVariable is set by make check-docs, which runs what the documents show.
const guidesVariable = "CSI_PROXY_DOCS"

// notRunMark matches the line behind a block that CI does not type, or runs elsewhere: on the first screen, unseen.
// CONTRIBUTING.md explains it.
const notRunMark = `(?:\*(?:Not run in CI|CI runs)[^*\n]*\.\*|<!-- CI runs it -->)\n`

// A block is a fenced block of a page.
type block struct {
	line     int    // of the fence
	from, to int    // the text's bytes in the page
	language string // behind the fence
	text     string
	notRun   bool // CI does not run it
}

// A guide is a page with its blocks.
type guide struct {
	path   string // in the repository
	text   []byte
	blocks []block
}

// commands are the languages whose blocks are typed or compiled; CI does so but for those that are marked and those for
// Windows. The other languages are for outputs and files.
var commands = []string{"sh", "console", "go", "go.mod", "cmd", "powershell"}

var (
	fence  = regexp.MustCompile("(?m)^```([a-z.]*)\n((?:[^`\n].*\n|`[^`].*\n|\n)*)```\n(\n" + notRunMark + ")?")
	marked = regexp.MustCompile(`(?m)^(\*(Not run in CI|CI runs)|<!-- CI runs it)`)
	// typed matches command lines in a block that is not marked as a shell block.
	typed = regexp.MustCompile(`(?m)^(\$ |(make|go|git|kubectl|helm|docker|npm|buf|sc\.exe|csi-proxy(ctl)?(\.exe)?) |replace github\.com)`)
)

// guides reads every page that a reader may follow. docs/apis is generated and has nothing to type.
func guides(t *testing.T) []guide {
	t.Helper()
	var found []guide
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md", "charts/*/README.md", "examples/*/*.md", ".github/*/*/*.md"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		caller.OK(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			caller.OK(t, err)
			path, err := filepath.Rel(root, file)
			caller.OK(t, err)
			g := guide{path: path, text: text}
			for _, at := range fence.FindAllSubmatchIndex(text, -1) {
				b := block{line: 1 + bytes.Count(text[:at[0]], []byte("\n")), from: at[4], to: at[5], language: string(text[at[2]:at[3]]), text: string(text[at[4]:at[5]])}
				b.notRun = at[6] >= 0 || b.language == "cmd" || b.language == "powershell"
				g.blocks = append(g.blocks, b)
			}
			found = append(found, g)
		}
	}
	return found
}

// TestGuideBlocks checks that every block says what it is, so that none is left out of the tests below by mistake.
func TestGuideBlocks(t *testing.T) {
	for _, g := range guides(t) {
		if fences := bytes.Count(g.text, []byte("```")); fences != 2*len(g.blocks) {
			t.Errorf("%s has %d fences and %d blocks; a block begins and ends at the beginning of a line, and its language "+
				"has small letters and dots", g.path, fences, len(g.blocks))
		}
		for _, b := range g.blocks {
			known := slices.Contains(commands, b.language)
			if !known && typed.MatchString(b.text) {
				t.Errorf("%s:%d: commands in a block of the language %q; want one of %q", g.path, b.line, b.language, commands)
			}
			if !known && b.notRun {
				t.Errorf("%s:%d: a block of the language %q is never run, and needs no mark", g.path, b.line, b.language)
			}
		}
		behind := 0
		for _, at := range fence.FindAllSubmatchIndex(g.text, -1) {
			if at[6] >= 0 {
				behind++
			}
		}
		if marks := len(marked.FindAll(g.text, -1)); marks != behind {
			t.Errorf("%s has %d marks, of which some are not right behind a block, or have no full stop", g.path, marks)
		}
	}
}

// TestGuides types what every page shows, in a clone of this repository and outside of it, each page in a shell of its
// own. A block marked sh must succeed. A block marked console is a session: the text after a line "$ command" must be
// the command's output, but for times, ids and the like; with UPDATE_SCRIPTS=1 in the environment, outputs that differ
// are replaced. A block marked go is compiled in a module that has what the page's blocks marked go.mod give it.
func TestGuides(t *testing.T) {
	if os.Getenv(guidesVariable) == "" {
		t.Skip("make check-docs sets " + guidesVariable)
	}
	home := newHome(t)
	var run int
	var notRun []string
	for _, g := range guides(t) {
		t.Run(g.path, func(t *testing.T) {
			if update := g.play(t, home); os.Getenv("UPDATE_SCRIPTS") != "" && update != nil {
				caller.OK(t, os.WriteFile(filepath.Join(root, g.path), update, 0o644))
			}
			g.compile(t, home)
		})
		for _, b := range g.blocks {
			switch {
			case b.notRun:
				notRun = append(notRun, fmt.Sprintf("%s:%d (%s)", g.path, b.line, b.language))
			case slices.Contains(commands, b.language):
				run++
			}
		}
	}
	t.Logf("%d blocks run or compiled, %d not:\n%s", run, len(notRun), strings.Join(notRun, "\n"))
}

// play types the blocks of a page and returns the page with the outputs that it saw.
func (g guide) play(t *testing.T, home string) []byte {
	t.Helper()
	var shell *session
	var updated bytes.Buffer
	end := 0
	for _, b := range g.blocks {
		if b.notRun || b.language != "sh" && b.language != "console" {
			continue
		}
		if shell == nil {
			shell = newSession(t, home)
		}
		t.Logf("%s:%d: %s", g.path, b.line, b.language)
		updated.Write(g.text[end:b.from])
		if b.language == "sh" {
			shell.script(b.text)
			updated.WriteString(b.text)
		} else {
			updated.WriteString(shell.play(strings.Split(strings.TrimSuffix(b.text, "\n"), "\n")))
		}
		end = b.to
	}
	if shell == nil {
		return nil
	}
	updated.Write(g.text[end:])
	return updated.Bytes()
}
