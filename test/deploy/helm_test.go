// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

const chart = root + "/charts/csi-proxy"

// built has the tools that the tests have built, each from the module that pins it.
var built = map[string]func() (string, error){"helm": building("helm"), "helm-docs": building("helm-docs")}

func building(name string) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		build := exec.Command("go", "tool", "-modfile="+root+"/tools/"+name+"/go.mod", "-n", name)
		build.Env = append(os.Environ(), "GOWORK=off")
		out, err := build.Output()
		if err != nil {
			return "", fmt.Errorf("building %s: %w", name, err)
		}
		return strings.TrimSpace(string(out)), nil
	})
}

// tool returns the path of a tool.
func tool(t *testing.T, name string) string {
	t.Helper()
	binary, err := built[name]()
	ok(t, err)
	return binary
}

// helm runs Helm and returns its output.
func helm(t *testing.T, args ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, errs strings.Builder
	command := exec.CommandContext(t.Context(), tool(t, "helm"), args...)
	command.Stdout, command.Stderr = &out, &errs
	// Helm sees no settings of this machine's own Helm, and no cluster.
	home := t.TempDir()
	command.Env = append(os.Environ(), "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+home, "HELM_DATA_HOME="+home,
		"KUBECONFIG="+filepath.Join(home, "none"))
	err = command.Run()
	return out.String(), errs.String(), err
}

// The Helm that installs the chart on a real API server, in test/apiserver, is the one that renders it here.
func TestHelmIsOneVersion(t *testing.T) {
	pinned := regexp.MustCompile(`(?m)^\s*(?:require )?(helm\.sh/helm/v4 v\S+)`)
	want, got := pinned.FindString(string(read(t, "tools/helm/go.mod"))),
		pinned.FindString(string(read(t, "test/apiserver/go.mod")))
	if want == "" || strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("test/apiserver has %q, tools/helm has %q", got, want)
	}
}

// template renders the chart with the values of a file of the repository and further arguments.
func template(t *testing.T, values string, args ...string) []byte {
	t.Helper()
	args = append([]string{"template", "csi-proxy", chart, "--namespace", "csi-proxy", "--values",
		filepath.Join(root, values)}, args...)
	stdout, stderr, err := helm(t, args...)
	if err != nil {
		t.Fatalf("helm %s: %v\n%s", strings.Join(args, " "), err, stderr)
	}
	return []byte(stdout)
}
