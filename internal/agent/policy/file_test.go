// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The files are where only this test's user and administrators write, or the first case fails.
func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(path, []byte(plain), 0o600); err != nil {
		t.Fatal(err)
	}
	if p, err := Load(path); err != nil || len(p.Rules()) != 1 {
		t.Fatalf("got %v, %v", p, err)
	}
	for name, plant := range map[string]func(at string) error{
		"a link":               func(at string) error { return os.Symlink(path, at) },
		"a link to a link":     func(at string) error { return os.Symlink(at+"2", at) },
		"a directory":          func(at string) error { return os.Mkdir(at, 0o700) },
		"a missing file":       func(string) error { return nil },
		"a file with mistakes": func(at string) error { return os.WriteFile(at, []byte(plain+"x: y\n"), 0o600) },
	} {
		at := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		if err := plant(at); err != nil {
			t.Logf("require %s: %v", name, err)
			continue
		}
		if p, err := Load(at); err == nil {
			t.Errorf("%s: got %+v", name, p)
		}
	}
	linked := filepath.Join(dir, "linked")
	err := os.Symlink(dir, linked)
	if err == nil {
		_, err = os.Lstat(linked) // Wine reports success without making one
	}
	if err != nil {
		t.Skipf("require links: %v", err)
	}
	if _, err := Load(filepath.Join(linked, "policy.yaml")); err == nil ||
		!strings.Contains(err.Error(), linked+" is a link") {
		t.Errorf("a link above the file: got %v", err)
	}
}
