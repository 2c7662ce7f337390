// SPDX-License-Identifier: Apache-2.0

package testnode

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// BinVariable names the environment variable with the directory of the built commands; without it the tests build them.
const BinVariable = "CSI_PROXY_BIN"

// Main runs the tests of a package that uses Command, and removes the binaries that were built for them.
func Main(m *testing.M) int {
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	return code
}

// Command returns the path of csi-proxy, csi-proxy-emulated or csi-proxyctl, built without the race detector, as users
// have it.
func Command(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv(BinVariable)
	if dir == "" {
		built.once.Do(func() { built.dir, built.err = build() })
		if built.err != nil {
			t.Fatal(built.err)
		}
		dir = built.dir
	}
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	path := filepath.Join(dir, name)
	if _, err := os.Stat(path); err != nil { // which also makes go test run again when the command has changed
		t.Fatal(err)
	}
	return path
}

// built is the result of this process's build.
var built struct {
	once sync.Once
	dir  string
	err  error
}

func build() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "csi-proxy-bin"); err != nil {
		return "", err
	}
	const module = "github.com/kubernetes-csi/csi-proxy"
	build := exec.Command("go", "build", "-trimpath", "-o", dir+string(os.PathSeparator), module+"/cmd/csi-proxy", module+"/cmd/csi-proxy-emulated", module+"/cmd/csi-proxyctl") //nolint:gosec // a new directory
	if out, err := build.CombinedOutput(); err != nil {
		return dir, fmt.Errorf("building the commands: %w\n%s", err, out)
	}
	return dir, nil
}
