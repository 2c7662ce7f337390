// SPDX-License-Identifier: Apache-2.0

//go:build unix

package policy

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Whoever could change the file, or put another in its place, could give himself every right.
func TestAFileThatOthersCanChange(t *testing.T) {
	for name, test := range map[string]struct {
		file, directory fs.FileMode
		owner           int // other than root and this user
		want            string
	}{
		"closed":             {file: 0o600, directory: 0o700},
		"readable":           {file: 0o644, directory: 0o755},
		"everybody's":        {file: 0o646, directory: 0o755, want: "the file has mode 0646"},
		"a group's":          {file: 0o664, directory: 0o755, want: "the file has mode 0664"},
		"in an open place":   {file: 0o600, directory: 0o777, want: "has mode 0777"},
		"in a group's place": {file: 0o600, directory: 0o770, want: "has mode 0770"},
		"among others' files that nobody can replace": {file: 0o600, directory: 0o777 | fs.ModeSticky},
		"another user's": {file: 0o600, directory: 0o755, owner: 12345, want: "the file belongs to another user"},
	} {
		dir := filepath.Join(t.TempDir(), "dir")
		path := filepath.Join(dir, "policy.yaml")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(plain), 0o600); err != nil {
			t.Fatal(err)
		}
		if test.owner != 0 && os.Chown(path, test.owner, -1) != nil {
			continue // only root may
		}
		if err := os.Chmod(path, test.file); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, test.directory); err != nil {
			t.Fatal(err)
		}
		_, err := Load(path)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}
