// SPDX-License-Identifier: Apache-2.0

//go:build unix

package records

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A directory that others can change may have records of theirs, and is not taken, with or without one for records in
// it.
func TestMachineDir(t *testing.T) {
	for _, test := range []struct {
		name         string
		base, shares os.FileMode // 0: missing
		link         bool        // in place of the directory
		want         []string
	}{
		{name: "missing"},
		{name: "there", base: 0o755, shares: 0o755},
		{name: "a user's", base: 0o777, want: []string{"csi-proxy can be changed by"}},
		{name: "a user's, with one for records", base: 0o777, shares: 0o777,
			want: []string{"csi-proxy can be changed by", "csi-proxy/shares can be changed by"}},
		{name: "a user's below ours", base: 0o755, shares: 0o777, want: []string{"csi-proxy/shares can be changed by"}},
		{name: "a link", link: true, want: []string{"csi-proxy is a link", `rmdir "`}},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := t.TempDir()
			t.Setenv("ProgramData", data)
			base := filepath.Join(data, "csi-proxy")
			if test.link {
				if err := os.Symlink(t.TempDir(), base); err != nil {
					t.Fatal(err)
				}
			}
			for path, mode := range map[string]os.FileMode{base: test.base, filepath.Join(base, "shares"): test.shares} {
				if mode == 0 {
					continue
				}
				if err := os.MkdirAll(path, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.Chmod(path, mode); err != nil {
					t.Fatal(err)
				}
			}
			dir, err := MachineDir()
			if len(test.want) == 0 {
				if info, missing := os.Stat(dir); err != nil || missing != nil || !info.IsDir() {
					t.Errorf("got %q, %v, %v", dir, err, missing)
				}
				return
			}
			for _, want := range test.want {
				if dir != "" || err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %q, %v; want %q", dir, err, want)
				}
			}
		})
	}
}
