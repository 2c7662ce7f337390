// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// TestReportsAreShown writes the pages of reports. Incomplete input is refused.
func TestReportsAreShown(t *testing.T) {
	archive, err := txtar.ParseFile("testdata/read.txtar")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range archive.Files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	for _, test := range []struct {
		args         string
		code         int
		stdout, text string // parts of the page and of the error
	}{
		{"show wine.json", exitFailed, "Wine 10.0, which is not Windows", ""},
		{"show wine.json", exitFailed, "<td>TestOther<br><small>it broke</small>", ""},
		{"show held.json", exitHeld, "Does IOCTL_SCSI_GET_ADDRESS agree with MSFT_Disk.Location?", ""},
		{"show newer.json", exitNothing, "", "newer.json: it has the schema 2, and this program reads 1"},
		{"show text", exitNothing, "", "it is not a report of csi-proxy-prove"},
		{"show nothing.json", exitNothing, "", "nothing.json"},
	} {
		var stdout, stderr strings.Builder
		code := (&kit{out: &stdout}).main(strings.Fields(test.args), &stderr)
		if code != test.code || !strings.Contains(stdout.String(), test.stdout) ||
			!strings.Contains(stderr.String(), test.text) {
			t.Errorf("%s: exit code %d, want %d\n%s%s", test.args, code, test.code, stdout.String(), stderr.String())
		}
	}
}
