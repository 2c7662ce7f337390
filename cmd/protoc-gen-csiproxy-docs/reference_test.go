// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/kubernetes-csi/csi-proxy/client/api"
	"github.com/kubernetes-csi/csi-proxy/client/versions"
)

// pagesDir is the folder of the generated pages.
const pagesDir = "../../docs/apis"

// releasedFiles returns the files of the released API, by name.
func releasedFiles(t *testing.T) []protoreflect.FileDescriptor {
	t.Helper()
	all, err := api.Descriptors()
	if err != nil {
		t.Fatal(err)
	}
	var files []protoreflect.FileDescriptor
	all.RangeFiles(func(file protoreflect.FileDescriptor) bool { files = append(files, file); return true })
	slices.SortFunc(files, func(a, b protoreflect.FileDescriptor) int { return strings.Compare(a.Path(), b.Path()) })
	return files
}

// TestPagesAreThoseOfTheAPI compares the pages in the tree with those of the released API: their names, headings,
// fields and missing methods. The descriptors have no comments to compare; make check-generated does that.
func TestPagesAreThoseOfTheAPI(t *testing.T) {
	response, err := run(t, allOf(t), versions.Groups())
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, file := range response.GetFile() {
		want = append(want, file.GetName())
		t.Run(file.GetName(), func(t *testing.T) {
			if diff := cmp.Diff(withoutComments(readPage(t, file.GetName())), withoutComments(file.GetContent())); diff != "" {
				t.Errorf("the page and the API differ (-page +API); make generate rewrites it:\n%s", diff)
			}
		})
	}
	slices.Sort(want)
	if diff := cmp.Diff(pages(t), want); diff != "" {
		t.Errorf("pages (-got +want):\n%s", diff)
	}
}

// withoutComments keeps what comes from descriptors and not from comments: headings, fields and missing methods.
func withoutComments(page string) []string {
	var kept []string
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\r\n")
		field, _, _ := strings.Cut(line, "`:")
		switch {
		case strings.HasPrefix(line, "#"), strings.HasPrefix(line, "|"), strings.HasPrefix(line, "Not in "):
			kept = append(kept, line)
		case strings.HasPrefix(line, "- `"):
			kept = append(kept, strings.TrimSuffix(field, "`"))
		}
	}
	return kept
}

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
	slices.Sort(names)
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
