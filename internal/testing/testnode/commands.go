// SPDX-License-Identifier: Apache-2.0

package testnode

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// BinVariable names the environment variable with the directory of the built commands; without it the tests build them.
const BinVariable = "CSI_PROXY_BIN"

// Main runs the tests of a package that uses Command, and removes the binaries that were built for them.
func Main(m *testing.M) int {
	defer func() { _ = os.RemoveAll(built) }()
	return m.Run()
}

// Command returns the path of csi-proxy, csi-proxy-emulated or csi-proxyctl, built without the race detector, as users
// have it.
func Command(t testing.TB, name string) string {
	t.Helper()
	dir := os.Getenv(BinVariable)
	if dir == "" {
		var err error
		if dir, err = build(); err != nil {
			t.Fatal(err)
		}
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

// built is the directory of this process's build; empty: there was none.
var built string

var build = sync.OnceValues(func() (dir string, err error) {
	if built, err = os.MkdirTemp("", "csi-proxy-bin"); err != nil {
		return "", err
	}
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/kubernetes-csi/csi-proxy").Output()
	for _, name := range []string{"csi-proxy", "csi-proxy-emulated", "csi-proxyctl"} { // which is a module of its own
		if err != nil {
			break
		}
		source := filepath.Join(strings.TrimSpace(string(root)), "cmd", name)
		into := built + string(os.PathSeparator)
		build := exec.Command("go", "-C", source, "build", "-trimpath", "-o", into, ".")
		var out []byte
		if out, err = build.CombinedOutput(); err != nil {
			err = fmt.Errorf("building %s: %w\n%s", name, err, out)
		}
	}
	return built, err
})
