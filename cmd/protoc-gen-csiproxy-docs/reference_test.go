// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pagesDir is the folder of the generated pages.
const pagesDir = "../../docs/apis"

// TestLinksLead checks that every link of every page leads to an existing file and to a heading that is there once.
func TestLinksLead(t *testing.T) {
	link := regexp.MustCompile(`\]\(([^)]+)\)`)
	for _, name := range pages(t) {
		for _, found := range link.FindAllStringSubmatch(readPage(t, name), -1) {
			if strings.Contains(found[1], "://") {
				continue
			}
			file, heading, _ := strings.Cut(found[1], "#")
			target := filepath.Join(pagesDir, path.Dir(name), file)
			if file == "" {
				target = filepath.Join(pagesDir, name)
			}
			text, err := os.ReadFile(target)
			if err != nil {
				t.Errorf("%s: a link to %s: %v", name, found[1], err)
			} else if n := headings(string(text))[heading]; heading != "" && n != 1 {
				t.Errorf("%s: a link to %s, of which there are %d", name, found[1], n)
			}
		}
	}
}

// headings counts the anchors of a page as browsers see them.
func headings(page string) map[string]int {
	counts := map[string]int{}
	for line := range strings.Lines(page) {
		if text, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") {
			counts[strings.ReplaceAll(strings.ToLower(strings.TrimSpace(text)), " ", "-")]++
		}
	}
	return counts
}

// pages returns the generated pages in the tree.
func pages(t *testing.T) []string {
	t.Helper()
	var names []string
	found, err := filepath.Glob(filepath.Join(pagesDir, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range found {
		if name := filepath.Base(file); name != "reasons.md" { // made from client/reason
			names = append(names, name)
		}
	}
	return names
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(pagesDir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}
