// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// root is the repository's root directory, as seen from this package.
const root = "../.."

// ok ends the test at an error.
func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// read returns the content of a file of the repository.
func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(path)))
	ok(t, err)
	return content
}

// matching returns the files of the repository that match, as paths in the repository.
func matching(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s matches %d files, %v", pattern, len(files), err)
	}
	for i, file := range files {
		files[i], err = filepath.Rel(root, file)
		ok(t, err)
	}
	return files
}

// Run the tests with -update to rewrite the golden files, and read the difference.
var update = flag.Bool("update", false, "rewrite the golden files")

// isGolden compares a golden file of the repository with what it should be.
func isGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		ok(t, os.WriteFile(filepath.Join(root, file), []byte(got), 0o600))
	}
	if diff := cmp.Diff(string(read(t, file)), got); diff != "" {
		t.Errorf("%s - now +:\n%s", file, diff)
	}
}

// apis returns the versions of each API group, from the folders of the client module.
func apis(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for _, folder := range matching(t, "client/api/*/v*") {
		group, version := filepath.Base(filepath.Dir(folder)), filepath.Base(folder)
		found[group] = append(found[group], version)
	}
	return found
}

// exists reports whether the repository has a file or a folder of that path.
func exists(path string) bool {
	_, err := os.Stat(filepath.Join(root, filepath.FromSlash(path)))
	return err == nil
}
