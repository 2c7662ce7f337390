// SPDX-License-Identifier: Apache-2.0

package ntfs_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/ntfs"
)

// tool runs a program of Debian's package ntfs-3g, whose authors did not read this package. The test fails if it does.
func tool(t *testing.T, name string, args ...string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("require %s, of the package ntfs-3g: hack/setup.sh test installs it", name)
	}
	out, err := exec.Command(path, args...).CombinedOutput()
	if err != nil {
		t.Errorf("%s %q: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// intact makes the tools read a file system that fills its image, and compare the clusters of all files with $Bitmap.
func intact(t *testing.T, image string) {
	t.Helper()
	fixed := tool(t, "ntfsfix", "-n", image)
	if !strings.Contains(fixed, "completed successfully") || strings.Contains(fixed, "FAILED") ||
		strings.Contains(fixed, "BAD") {
		t.Errorf("ntfsfix -n:\n%s", fixed)
	}
	if out := tool(t, "ntfsresize", "-i", "-f", "-P", image); !strings.Contains(out, "Accounting clusters") {
		t.Errorf("ntfsresize -i:\n%s", out)
	}
}

// number returns a number that ntfsinfo -m prints.
func number(t *testing.T, image, what string) int64 {
	t.Helper()
	m := regexp.MustCompile(what + `: (\d+)`).FindStringSubmatch(tool(t, "ntfsinfo", "-m", image))
	if m == nil {
		t.Fatalf("ntfsinfo -m has no %q", what)
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	must(t, err)
	return n
}

// fileOf returns the content of a file of the metadata.
func fileOf(t *testing.T, image, file string, options ...string) string {
	t.Helper()
	path, err := exec.LookPath("ntfscat")
	must(t, err)
	out, err := exec.Command(path, append(append([]string{"-f", "-i", file}, options...), image)...).Output()
	must(t, err)
	return string(out)
}

// newImage returns a sparse file.
func newImage(t *testing.T, size int64) string {
	t.Helper()
	image := filepath.Join(t.TempDir(), "volume")
	must(t, os.WriteFile(image, nil, 0o600))
	must(t, os.Truncate(image, size))
	return image
}

// mkntfs makes a file system with Debian's tool.
func mkntfs(t *testing.T, size int64, options ...string) string {
	t.Helper()
	image := newImage(t, size)
	tool(t, "mkntfs", append(append([]string{"-q", "-F", "-Q"}, options...), image)...)
	return image
}

// write makes blocks part of an image. It writes zeros only where there is something else.
func write(t *testing.T, image string, blocks []ntfs.Block) {
	t.Helper()
	f, err := os.OpenFile(image, os.O_RDWR, 0)
	must(t, err)
	defer f.Close()
	there, zeros := make([]byte, 1<<20), make([]byte, 1<<20)
	for _, b := range blocks {
		_, err := f.WriteAt(b.Data, b.Offset)
		must(t, err)
		for at := int64(len(b.Data)); at < b.Size; at += int64(len(there)) {
			n, err := f.ReadAt(there[:min(int64(len(there)), b.Size-at)], b.Offset+at)
			must(t, err)
			if !bytes.Equal(there[:n], zeros[:n]) {
				_, err = f.WriteAt(zeros[:n], b.Offset+at)
				must(t, err)
			}
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
