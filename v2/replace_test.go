// SPDX-License-Identifier: Apache-2.0

package v2_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/csiproxytest"
	"github.com/kubernetes-csi/csi-proxy/v2/internal/machine"
)

// TestThreeReplaceLines builds a driver that was written for the existing library in a module of its own, whose go.mod
// has only the lines that the documentation tells drivers to add, and nothing else of this repository.
func TestThreeReplaceLines(t *testing.T) {
	if os.Getenv("CSI_PROXY_DOCS") == "" {
		t.Skip("require CSI_PROXY_DOCS: nearly everything is compiled for it, twice; make check-docs runs it")
	}
	repository, err := filepath.Abs("..")
	must(t, "finding the repository", err)
	dir := t.TempDir()
	files := map[string]string{
		"go.mod": "module example.com/driver\n\ngo 1.26.0\n\nrequire github.com/kubernetes-csi/csi-proxy/v2 " +
			"v2.0.0-alpha.1\n\n" + replaceLines(t, repository),
	}
	for name, from := range map[string]string{"go.sum": "go.sum", "main.go": "testdata/driver/main.go"} {
		text, err := os.ReadFile(from)
		must(t, "reading the driver", err)
		files[name] = string(text)
	}
	for name, text := range files {
		must(t, "writing the driver", os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	// Other modules may be downloaded; those of this repository must not be, from anywhere.
	for _, system := range []string{"windows", "linux"} {
		build := exec.CommandContext(t.Context(), "go", "build", "-mod=mod", "-o", "driver-"+system, ".")
		build.Dir = dir
		build.Env = append(os.Environ(), "GOOS="+system, "GOWORK=off",
			"GOPRIVATE=github.com/kubernetes-csi/csi-proxy", "GOVCS=*:off")
		if out, err := build.CombinedOutput(); err != nil {
			t.Fatalf("building for %s: %v\n%s", system, err, out)
		}
	}
	// Off Windows, the driver reports that it cannot run there, unless its environment names an agent.
	driver := filepath.Join(dir, "driver-linux")
	if out, err := exec.CommandContext(t.Context(), driver).CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "this is not a Windows node") {
		t.Errorf("the driver on Linux: %v\n%s", err, out)
	}
	n := csiproxytest.Start(t, csiproxytest.Options{})
	n.AttachDisk(csiproxytest.Disk{SizeBytes: 1 << 30, SerialNumber: "serial"})
	n.Setenv()
	t.Setenv(machine.HostAPIVariable, "agent")
	if out, err := exec.CommandContext(t.Context(), driver).CombinedOutput(); err != nil {
		t.Errorf("the driver over an agent: %v\n%s", err, out)
	}
	if mounts := n.Mounts(); len(mounts) != 1 || mounts[0].Path != `C:\var\lib\kubelet\plugins\example\globalmount` {
		t.Errorf("the driver mounted %+v", mounts)
	}
}

// replaceLines returns the three lines of the documentation.
func replaceLines(t *testing.T, repository string) string {
	t.Helper()
	text, err := os.ReadFile("../docs/driver-authors.md")
	must(t, "reading the documentation", err)
	_, section, _ := strings.Cut(string(text), "\n## From the existing library\n")
	_, block, _ := strings.Cut(section, "```go.mod\n")
	lines, _, _ := strings.Cut(block, "```\n")
	if count := strings.Count(lines, "replace "); count != 3 {
		t.Fatalf("the documentation has %d replace lines", count)
	}
	return strings.ReplaceAll(lines, "<this repository>", repository)
}
