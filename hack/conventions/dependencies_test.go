// SPDX-License-Identifier: Apache-2.0

package conventions_test

import (
	"slices"
	"strings"
	"testing"
)

// An importer of csiproxytest gets the requirements of the root module, so these are the agent's and the emulated
// node's, and two libraries of the tests beside them. Commands and suites with more are modules of their own.
func TestRootRequiresWhatItsProgramsLink(t *testing.T) {
	inRoot(t)
	linked := []string{"github.com/google/go-cmp", "github.com/rogpeppe/go-internal"}
	for _, goos := range []string{"linux", "windows"} {
		linked = append(linked, goList(t, goos, "-deps", "-f", "{{with .Module}}{{.Path}}{{end}}",
			"./cmd/csi-proxy", "./cmd/csi-proxy-emulated", "./csiproxytest")...)
	}
	for _, module := range goList(t, "linux", "-m", "-f", "{{if not (or .Indirect .Main)}}{{.Path}}{{end}}", "all") {
		t.Log(module)
		if !slices.Contains(linked, module) {
			t.Errorf("go.mod requires %s, which neither the agent nor the emulated node links", module)
		}
	}
}

// Drivers take all that the client imports.
func TestClientImportsLittle(t *testing.T) {
	inRoot(t)
	allowed := []string{
		"github.com/kubernetes-csi/csi-proxy/client",
		"github.com/Microsoft/go-winio",
		"golang.org/x/sys",                          // which go-winio needs anyway
		"google.golang.org/genproto/googleapis/rpc", // which grpc needs anyway
		"google.golang.org/grpc",
		"google.golang.org/protobuf",
	}
	for _, goos := range []string{"linux", "windows"} {
		for _, name := range goList(t, goos, "-C", "client", "-f", `{{join .Imports " "}}`, "./...") {
			first, _, _ := strings.Cut(name, "/")
			if isStandard := !strings.Contains(first, "."); !isStandard && !slices.ContainsFunc(allowed,
				func(module string) bool { return strings.HasPrefix(name+"/", module+"/") }) {
				t.Errorf("client imports %s, want one of the standard library or of %q", name, allowed)
			}
		}
	}
}
