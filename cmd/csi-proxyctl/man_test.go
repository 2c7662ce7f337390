// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
)

// TestManPages makes a manual page for each command. `make man` runs it with MAN_DIR, which keeps the pages. They are
// made here and not by the program, which would have to include a page formatter.
func TestManPages(t *testing.T) {
	dir := cmp.Or(os.Getenv("MAN_DIR"), t.TempDir())
	root, _ := commands()
	root.DisableAutoGenTag = true // the line with the date of a page
	if err := doc.GenManTree(root, &doc.GenManHeader{Section: "1", Source: "CSI Proxy", Manual: "CSI Proxy"},
		dir); err != nil {
		t.Fatal(err)
	}
	checkManPage(t, dir, root)
}

// checkManPage checks the pages of a command and of the commands below it, and says what made them.
func checkManPage(t *testing.T, dir string, c *cobra.Command) {
	t.Helper()
	name := strings.ReplaceAll(c.CommandPath(), " ", "-")
	file := filepath.Join(dir, name+".1")
	page, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(file, append([]byte(`.\" Generated from the help of the program by make man.`+"\n"), page...),
			0o600)
	}
	if err != nil {
		t.Error(err)
	}
	if title := `.TH "` + strings.ToUpper(name) + `" "1"`; !strings.Contains(string(page), title) ||
		!strings.Contains(string(page), "SYNOPSIS") {
		t.Errorf("the page of %s lacks %s or a synopsis", c.CommandPath(), title)
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && !sub.IsAdditionalHelpTopicCommand() {
			checkManPage(t, dir, sub)
		}
	}
}
