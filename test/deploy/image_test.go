// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bytes"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/linter"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
)

// dockerfile reads a Dockerfile of one stage as BuildKit does. Its images only copy: a RUN would need the image's
// system to build it.
func dockerfile(t *testing.T, path string) []instructions.Command {
	t.Helper()
	parsed, err := parser.Parse(bytes.NewReader(read(t, path)))
	ok(t, err)
	var warnings []string
	lint := linter.New(&linter.Config{Warn: func(rule, description, _, message string, _ []parser.Range) {
		warnings = append(warnings, rule+": "+description+": "+message)
	}})
	stages, _, err := instructions.Parse(parsed.AST, lint)
	ok(t, err)
	if len(warnings) > 0 || len(parsed.Warnings) > 0 {
		t.Errorf("BuildKit's linter: %q, parser: %v", warnings, parsed.Warnings)
	}
	if len(stages) != 1 {
		t.Fatalf("%d stages, want one", len(stages))
	}
	for _, command := range stages[0].Commands {
		if run, ok := command.(*instructions.RunCommand); ok {
			t.Errorf("%s: only the image's own system could build that", run)
		}
	}
	return stages[0].Commands
}

func TestDockerfile(t *testing.T) {
	var copied []string
	labels := map[string]string{}
	for _, command := range dockerfile(t, "deploy/image/Dockerfile") {
		switch command := command.(type) {
		case *instructions.CopyCommand:
			if command.DestPath != "/" {
				t.Errorf("%v goes to %s, want the image's root", command.SourcePaths, command.DestPath)
			}
			for _, source := range command.SourcePaths {
				copied = append(copied, path.Base(source))
			}
		case *instructions.LabelCommand:
			for _, label := range command.Labels {
				labels[strings.Trim(label.Key, `"`)] = strings.Trim(label.Value, `"`)
			}
		}
	}
	slices.Sort(copied)
	if diff := cmp.Diff([]string{"LICENSE", "csi-proxy.exe", "csi-proxyctl.exe", "install.ps1", "uninstall.ps1"},
		copied); diff != "" {
		t.Errorf("files in the image, want - got +:\n%s", diff)
	}
	if got := labels["org.opencontainers.image.licenses"]; got != "Apache-2.0" {
		t.Errorf("license label %q", got)
	}
	// Everything that the pods start is in the image.
	for _, values := range []string{required, "test/deploy/testdata/chart/service.values.yaml",
		"test/deploy/testdata/chart/service-absent.values.yaml"} {
		pod := daemonSet(t, decode(t, template(t, values))).Spec.Template.Spec
		for _, container := range append(pod.InitContainers, pod.Containers...) {
			program := container.Command[0]
			script := container.Command[len(container.Command)-1]
			file, isScript := strings.CutPrefix(script, `$env:CONTAINER_SANDBOX_MOUNT_POINT\`)
			if !isScript {
				file = program
			}
			if !slices.Contains(copied, file) && !slices.Contains([]string{"cmd.exe"}, file) {
				t.Errorf("container %s starts %s, which is neither in the image nor in Windows", container.Name, file)
			}
		}
	}
}

// TestDriversDockerfile: the example driver's image has the program that it starts, and a user whom the pipes admit.
func TestDriversDockerfile(t *testing.T) {
	var copied, entry []string
	user := ""
	for _, command := range dockerfile(t, "examples/csi-driver/Dockerfile") {
		switch command := command.(type) {
		case *instructions.CopyCommand:
			copied = append(copied, command.SourcePaths...)
		case *instructions.UserCommand:
			user = command.User
		case *instructions.EntrypointCommand:
			entry = command.CmdLine
		}
	}
	if len(copied) != 1 || len(entry) != 1 || entry[0] != "/"+copied[0] {
		t.Errorf("the image has %q and starts %q", copied, entry)
	}
	if user != "ContainerAdministrator" {
		t.Errorf("it runs as %q, whom the agent's pipes refuse", user)
	}
}
