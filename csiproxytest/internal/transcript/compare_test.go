// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	nodeapi "github.com/kubernetes-csi/csi-proxy/api/emulated/v1alpha1"
	"github.com/kubernetes-csi/csi-proxy/csiproxytest/internal/transcript"
)

func TestCompare(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.want")
	compare := func(got string, update bool) string {
		t.Helper()
		difference, err := transcript.Compare(file, got, update)
		if err != nil {
			t.Fatal(err)
		}
		return difference
	}
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := transcript.Compare(file, "one\n", false); err == nil || !strings.Contains(err.Error(), file) ||
		!strings.Contains(err.Error(), "-csiproxytest.update") {
		t.Errorf("a missing file: got %v", err)
	}
	if d := compare("one\ntwo\n", true); d != "" {
		t.Errorf("an update: got %s", d)
	}
	if d := compare("one\ntwo\n", false); d != "" {
		t.Errorf("what was written: got %s", d)
	}
	d := compare("one\n2\n", false)
	for _, want := range []string{"--- " + file, "+++ the journal", "\n one\n", "\n-two\n", "\n+2\n"} {
		if !strings.Contains(d, want) {
			t.Errorf("the difference has no %q:\n%s", want, d)
		}
	}

	write("# A remark.\r\n\r\none\r\n# Another.\r\ntwo")
	if d := compare("one\ntwo\n", false); d != "" {
		t.Errorf("remarks, lines of Windows and no last line end: got %s", d)
	}
	compare("three\n", true)
	if got, err := os.ReadFile(file); string(got) != "# A remark.\n\nthree\n" || err != nil {
		t.Errorf("an update keeps the remarks at the beginning: got %q, %v", got, err)
	}
}

// The journal keeps only its newest entries; a comparison of older ones fails.
func TestComplete(t *testing.T) {
	for _, c := range []struct {
		first, after uint64
		lost         string
	}{
		{1, 0, ""}, {8, 7, ""}, {0, 7, ""}, {3, 0, "#1 to #2"}, {12, 7, "#8 to #11"},
	} {
		err := transcript.Complete([]*nodeapi.JournalEntry{{Sequence: c.first}, {Sequence: c.first + 1}}, c.after)
		if (err == nil) != (c.lost == "") || err != nil && !strings.Contains(err.Error(), c.lost) {
			t.Errorf("%+v: got %v", c, err)
		}
	}
	if err := transcript.Complete(nil, 7); err != nil {
		t.Errorf("no entries: got %v", err)
	}
}
