// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"
)

// A user who may write in the directory puts a link where the file is written.
func TestTheReadyFileFollowsNoLink(t *testing.T) {
	for name, link := range map[string]func(target, path string) error{"symbolic link": os.Symlink, "hard link": os.Link} {
		t.Run(name, func(t *testing.T) {
			target, path := filepath.Join(t.TempDir(), "target"), filepath.Join(t.TempDir(), "ready")
			if err := os.WriteFile(target, []byte("before"), 0o600); err != nil {
				t.Fatal(err)
			}
			err := link(target, path+".new")
			if err == nil {
				_, err = os.Lstat(path + ".new") // Wine makes no symbolic link and says that it did
			}
			if err != nil {
				t.Skipf("require a %s: %v", name, err)
			}
			if err := readyFile(path).appear(23); err != nil {
				t.Fatal(err)
			}
			for path, want := range map[string]string{target: "before", path: "ready 23\n"} {
				if content, err := os.ReadFile(path); err != nil || string(content) != want {
					t.Errorf("%s: got %q (%v), want %q", path, content, err, want)
				}
			}
		})
	}
}
