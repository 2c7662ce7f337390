// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// manDir is where the manual pages are.
const manDir = "../../docs/man"

// TestManPages compares the manual pages with the commands. With UPDATE_MAN=1 in the environment it writes them: they are
// made here and not by the program itself, which would carry a page formatter around for that.
func TestManPages(t *testing.T) {
	made := t.TempDir()
	root := rootCommand()
	root.InitDefaultHelpCmd()
	noDates(root)
	header := &doc.GenManHeader{Section: "1", Source: "CSI Proxy", Manual: "CSI Proxy", Date: &time.Time{}}
	if err := doc.GenManTree(root, header, made); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE_MAN") != "" {
		if err := os.RemoveAll(manDir); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(manDir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range pages(t, made) {
			if err := os.WriteFile(filepath.Join(manDir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	want, got := pages(t, made), pages(t, manDir)
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("the manual pages are not what the commands say; make man writes them (-is +should be):\n%s", diff)
	}
}

// noDates leaves out the line that says when a page was made.
func noDates(c *cobra.Command) {
	c.DisableAutoGenTag = true
	for _, sub := range c.Commands() {
		noDates(sub)
	}
}

// pages are the files of a directory by name, without the month that they would have.
func pages(t *testing.T, dir string) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.Base(file)] = strings.Replace(string(text), `"Jan 0001"`, `""`, 1)
	}
	return all
}
