// SPDX-License-Identifier: Apache-2.0

package conventions_test

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// An importer of csiproxytest gets the requirements of the root module, so these are the agent's and the emulated
// node's, and two libraries of the tests beside them. Commands and suites with more are modules of their own.
func TestRootRequiresWhatItsProgramsLink(t *testing.T) {
	inRoot(t)
	list := func(goos string, args ...string) []string {
		command := exec.CommandContext(t.Context(), "go", append([]string{"list"}, args...)...)
		command.Env = append(os.Environ(), "GOWORK=off", "GOOS="+goos)
		out, err := command.Output()
		if err != nil {
			t.Fatal(err)
		}
		return strings.Fields(string(out))
	}
	linked := []string{"github.com/google/go-cmp", "github.com/rogpeppe/go-internal"}
	for _, goos := range []string{"linux", "windows"} {
		linked = append(linked, list(goos, "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}",
			"./cmd/csi-proxy", "./cmd/csi-proxy-emulated", "./csiproxytest")...)
	}
	for _, module := range list("linux", "-m", "-f", "{{if not (or .Indirect .Main)}}{{.Path}}{{end}}", "all") {
		t.Log(module)
		if !slices.Contains(linked, module) {
			t.Errorf("go.mod requires %s, which neither the agent nor the emulated node links", module)
		}
	}
}
