// SPDX-License-Identifier: Apache-2.0

//go:build unix

package fileowner

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFileWritableByOthers(t *testing.T) {
	for name, test := range map[string]struct {
		file, directory fs.FileMode
		owner           int // other than root and this user
		want            string
	}{
		"closed":             {file: 0o600, directory: 0o700},
		"readable":           {file: 0o644, directory: 0o755},
		"everybody's":        {file: 0o646, directory: 0o755, want: "policy.yaml can be changed by everyone"},
		"a group's":          {file: 0o664, directory: 0o755, want: "policy.yaml can be changed by group"},
		"in an open place":   {file: 0o600, directory: 0o777, want: "dir can be changed by group"},
		"in a group's place": {file: 0o600, directory: 0o770, want: "dir can be changed by group"},
		"among others' files that nobody can replace": {file: 0o600, directory: 0o777 | fs.ModeSticky},
		"another user's": {file: 0o600, directory: 0o755, owner: 12345, want: "policy.yaml can be changed by user 12345"},
	} {
		dir := filepath.Join(t.TempDir(), "dir")
		path := filepath.Join(dir, "policy.yaml")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
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
		err := CheckAbove(path)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: got %v, want %q", name, err, test.want)
		}
	}
}

func TestALinkOnTheWay(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for target, link := range map[string]string{"file": "to-file", ".": "to-directory"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{"to-file", "to-directory/file"} {
		if err := CheckAbove(filepath.Join(dir, path)); err == nil || !strings.Contains(err.Error(), "is a link") {
			t.Errorf("%s: got %v", path, err)
		}
	}
}
