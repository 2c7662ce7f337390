// SPDX-License-Identifier: Apache-2.0

package operation

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
)

// binVariable names the environment variable with the directory of the commands; without it the tests build them.
const binVariable = "CSI_PROXY_BIN"

func TestMain(m *testing.M) { os.Exit(withCommands(m.Run)) }

// withCommands builds the commands, unless they are given, and tells the tests where they are by the same variable.
func withCommands(run func() int) int {
	if os.Getenv(binVariable) != "" {
		return run()
	}
	bin, err := os.MkdirTemp("", "csi-proxy-bin")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(bin) }()
	build := exec.Command("go", "build", "-o", bin+string(os.PathSeparator), "../../cmd/csi-proxy", "../../cmd/csi-proxyctl")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "building the commands:", err)
		return 1
	}
	if err := os.Setenv(binVariable, bin); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return run()
}

// command is the path of a built command.
func command(name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(os.Getenv(binVariable), name)
}

// shortDir is a directory whose path is short enough for sockets.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "csi") //nolint:usetesting // t.TempDir has the test's name in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
