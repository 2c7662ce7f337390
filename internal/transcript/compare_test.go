// SPDX-License-Identifier: Apache-2.0

package transcript_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/transcript"
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
	if _, err := transcript.Compare(file, "one\n", false); err == nil || !strings.Contains(err.Error(), file) || !strings.Contains(err.Error(), "an update writes it") {
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
