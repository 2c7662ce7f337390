// SPDX-License-Identifier: Apache-2.0

package v2_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/client/csiproxy"
	"github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem"
	filesystemapi "github.com/kubernetes-csi/csi-proxy/v2/pkg/filesystem/hostapi"
)

// TestThisMachine works on the machine that the test runs on, as a driver does, in a directory that the environment
// names.
func TestThisMachine(t *testing.T) {
	const variable = "CSI_PROXY_TEST_AT_ROOT" // Wine looks for a path below the directory in which a process began
	if os.Getenv(variable) == "" {
		program, err := os.Executable()
		must(t, "finding this program", err)
		again := exec.Command(program, "-test.run=^TestThisMachine$")
		again.Dir, again.Env = `C:\`, append(os.Environ(), variable+"=1")
		if output, err := again.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, output)
		}
		return
	}
	dir := t.TempDir()
	t.Setenv("CSI_PROXY_WORKING_DIRS", dir)
	files, err := filesystem.New(filesystemapi.New())
	must(t, "making the group", err)
	sub := filepath.Join(dir, "a", "b")
	ok(t, files.Mkdir, &filesystem.MkdirRequest{Path: sub})
	if info, err := os.Stat(sub); err != nil || !info.IsDir() {
		t.Errorf("%s: %v, want a directory", sub, err)
	}
	exists := ok(t, files.PathExists, &filesystem.PathExistsRequest{Path: sub})
	ok(t, files.Rmdir, &filesystem.RmdirRequest{Path: sub})
	if _, err := os.Stat(sub); !exists.Exists || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("exists: %t, and after its removal %v", exists.Exists, err)
	}
	if _, err := files.Mkdir(t.Context(), &filesystem.MkdirRequest{Path: `C:\windows\x`}); !errors.Is(err,
		csiproxy.ErrOutsideWorkingDirs) {
		t.Errorf("a directory outside: %v, want ErrOutsideWorkingDirs", err)
	}
}
