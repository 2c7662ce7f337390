// SPDX-License-Identifier: Apache-2.0

//go:build linux

package apiserver

import (
	"encoding/json"
	"os"
	"os/exec"
	"testing"
)

// moduleDir returns the folder of a module of which only files are read, so that it is in no go.mod: it would decide
// about the versions of what is built. sum is the line that go.sum would have.
func moduleDir(t *testing.T, path, version, sum string) string {
	t.Helper()
	download := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", path+"@"+version)
	download.Dir, download.Env = t.TempDir(), append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := download.Output()
	if err != nil {
		t.Fatalf("%s@%s: %v\n%s", path, version, err, out)
	}
	var module struct{ Dir, Sum string }
	if err := json.Unmarshal(out, &module); err != nil {
		t.Fatal(err)
	}
	if module.Sum != sum {
		t.Fatalf("%s@%s has the sum %s, want %s", path, version, module.Sum, sum)
	}
	return module.Dir
}
