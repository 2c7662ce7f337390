// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestReportsAreShown prints reports. Incomplete input is refused.
func TestReportsAreShown(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/read.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir, files := t.TempDir(), map[string]string{}
	for _, f := range archive.Files {
		files[f.Name] = string(f.Data)
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, test := range []struct {
		args         string
		code         int
		stdout, text string // all of one, a part of the error
	}{
		{"show wine.json", exitFailed, files["wine.txt"], ""},
		{"show held.json", exitHeld, "", ""},
		{"show newer.json", exitNothing, "", "newer.json: it has the schema 2, and this program reads 1"},
		{"show wine.txt", exitNothing, "", "it is not a report of csi-proxy-prove"},
		{"show nothing.json", exitNothing, "", "nothing.json"},
	} {
		var stdout, stderr strings.Builder
		code := (&kit{out: &stdout}).main(strings.Fields(test.args), &stderr)
		if code != test.code || test.stdout != "" && trimmed(stdout.String()) != test.stdout ||
			!strings.Contains(stderr.String(), test.text) {
			t.Errorf("%s: exit code %d, want %d\n%s%s", test.args, code, test.code, stdout.String(), stderr.String())
		}
	}
}

// trimmed returns a table without the spaces at the ends of its lines.
func trimmed(text string) string {
	var out strings.Builder
	for line := range strings.Lines(text) {
		out.WriteString(strings.TrimRight(line, " \n") + "\n")
	}
	return out.String()
}
