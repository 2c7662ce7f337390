// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apiserver

import (
	"os"
	"path/filepath"
	"testing"
)

const (
	// root is the repository's root directory, as seen from this package.
	root = "../.."
	// programsVariable names the folder of the programs, which make check-apiserver builds.
	programsVariable = "CSI_PROXY_APISERVER_BIN"
)

// Each part begins and ends with a cluster that has three nodes and nothing of ours.
func TestAPIServer(t *testing.T) {
	programs := os.Getenv(programsVariable)
	if programs == "" {
		t.Skip("make check-apiserver builds the programs and sets " + programsVariable)
	}
	c := startCluster(t, programs)
	for _, part := range []struct {
		name string
		run  func(*testing.T, *cluster)
	}{
		{"manifests", testManifests},
		{"helm", testHelm},
		{"documents", testDocuments},
	} {
		if !t.Run(part.name, func(t *testing.T) { part.run(t, c) }) {
			return // what is left would be blamed on the next
		}
	}
}

// ok ends the test at an error.
func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// glob returns the files of the repository that match, as paths in the repository.
func glob(t *testing.T, pattern string) []string {
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

// read returns the content of a file of the repository.
func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, path))
	ok(t, err)
	return string(content)
}
