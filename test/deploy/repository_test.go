// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"os"
	"path/filepath"
	"testing"
)

// root is the repository's root directory, as seen from this package.
const root = "../.."

// read returns the content of a file of the repository.
func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// apis returns the versions of each API group, from the folders of the client module.
func apis(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	folders, err := filepath.Glob(filepath.Join(root, "client", "api", "*", "v*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		group, version := filepath.Base(filepath.Dir(folder)), filepath.Base(folder)
		found[group] = append(found[group], version)
	}
	if len(found) == 0 {
		t.Fatal("no API group found")
	}
	return found
}

// exists reports whether the repository has a file or a folder of that path.
func exists(path string) bool {
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(path)))
	return err == nil
}
