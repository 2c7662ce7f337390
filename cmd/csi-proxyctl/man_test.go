// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra/doc"
)

// TestManPages makes a manual page for each command. `make man` runs it with MAN_DIR, which keeps the pages. They are
// made here and not by the program, which would have to include a page formatter.
func TestManPages(t *testing.T) {
	dir := cmp.Or(os.Getenv("MAN_DIR"), t.TempDir())
	root, _ := commands(io.Discard)
	root.DisableAutoGenTag = true // the line with the date of a page
	header := &doc.GenManHeader{Section: "1", Source: "CSI Proxy", Manual: "CSI Proxy"}
	if err := doc.GenManTree(root, header, dir); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"csi-proxyctl", "csi-proxyctl-node-disk-attach"} {
		if page, err := os.ReadFile(filepath.Join(dir, name+".1")); !strings.Contains(string(page), "SYNOPSIS") {
			t.Errorf("the page of %s lacks a synopsis: %v", name, err)
		}
	}
}
