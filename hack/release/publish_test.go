// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	testVersion    = "v1.2.3"
	testRepository = "ghcr.io/example/csi-proxy"
	released       = testRepository + ":" + testVersion
)

// stub replaces every program with which publishing would reach the outside. It records how it is called.
const stub = `#!/usr/bin/env bash
name=$(basename "$0")
echo "$name $*" >>"$CALLS"
case "$name $*" in
"git log "*) echo 0 ;;
"git rev-parse "*) echo 0123456789abcdef ;;
"gh api --paginate "*) printf '%s' "$RELEASES" ;;
"docker login "*) cat >/dev/null ;;
"docker buildx build "*)
	while [[ $# -gt 0 ]]; do
		if [[ $1 == --metadata-file ]]; then
			printf '{\n  "containerimage.config.digest": "sha256:%064d",\n  "containerimage.digest": "sha256:%064d"\n}\n' 1 2 >"$2"
		fi
		shift
	done
	exit "${BUILD_FAILS:-0}"
	;;
"go tool "*) echo helm ;;
"helm registry login "*) cat >/dev/null ;;
"helm push "*) printf 'Pushed: x\nDigest: sha256:%064d\n' 3 >&2 ;;
esac
`

// publish runs hack/publish.sh in a copy of the files that it reads. releases are the version's releases on GitHub,
// each with its number and whether it is a draft.
func publish(t *testing.T, releases string, env ...string) (calls []string, err error) {
	t.Helper()
	root, programs := t.TempDir(), t.TempDir()
	put := func(path string, content []byte, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"hack/publish.sh", "deploy/image/build.sh", "deploy/emulated/build.sh",
		"deploy/windows/install.ps1", "deploy/windows/uninstall.ps1", "LICENSE"} {
		put(filepath.Join(root, name), license(t, filepath.Join("..", "..", name)), 0o755)
	}
	put(filepath.Join(root, "CHANGELOG.md"), []byte("# Changelog\n\n## [Unreleased]\n\n- soon\n\n## [1.2.3] - 2026-11-25\n\n"+
		"- what changed\n\n## [1.2.2] - 2026-11-01\n\n- before\n"), 0o600)
	for _, arch := range []string{"amd64", "arm64"} {
		put(filepath.Join(root, "dist", "csi-proxy-"+testVersion+"-windows-"+arch+".zip"), []byte(arch), 0o600)
	}
	sums := exec.CommandContext(t.Context(), "bash", "-c", "sha256sum * >SHA256SUMS")
	sums.Dir = filepath.Join(root, "dist")
	if output, err := sums.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	for _, name := range []string{"docker", "gh", "git", "go", "helm"} {
		put(filepath.Join(programs, name), []byte(stub), 0o755)
	}
	// These stand in for the binaries, whose building is tested elsewhere.
	put(filepath.Join(root, "hack", "build.sh"), []byte("#!/usr/bin/env bash\nmkdir -p \"$1\"\n"), 0o755)

	log := filepath.Join(t.TempDir(), "calls")
	put(log, nil, 0o600)
	command := exec.CommandContext(t.Context(), "bash", filepath.Join(root, "hack", "publish.sh"),
		testVersion, testRepository)
	command.Env = append(os.Environ(), append([]string{
		"PATH=" + programs + string(os.PathListSeparator) + os.Getenv("PATH"), "CALLS=" + log,
		"RELEASES=" + releases, "GH_TOKEN=none",
	}, env...)...)
	output, err := command.CombinedOutput()
	t.Logf("publish.sh: %v\n%s", err, output)
	return strings.Split(strings.TrimSpace(string(license(t, log))), "\n"), err
}

// calling returns the calls that begin with a text.
func calling(calls []string, prefix string) (found []string) {
	for _, call := range calls {
		if strings.HasPrefix(call, prefix) {
			found = append(found, call)
		}
	}
	return found
}

// The image that the packed chart asks for by default is the one that the release pushes.
func TestChartAsksForThePushedImage(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	helm, err := command(t.Context(), root, nil, "go", "tool",
		"-modfile="+filepath.Join(root, "tools", "helm", "go.mod"), "-n", "helm")
	if err != nil {
		t.Fatal(err)
	}
	helm = bytes.TrimSpace(helm)
	out, version := t.TempDir(), strings.TrimPrefix(testVersion, "v")
	_, err = command(t.Context(), root, nil, string(helm), "package", "charts/csi-proxy", // as make release does
		"--version", version, "--app-version", testVersion, "--destination", out)
	if err != nil {
		t.Fatal(err)
	}
	rendered, err := command(t.Context(), out, nil, string(helm), "template", "csi-proxy", "csi-proxy-"+version+".tgz",
		"--set", "image.repository="+testRepository)
	if err != nil {
		t.Fatal(err)
	}
	asked := regexp.MustCompile(`(?m)^ +image: (\S+)$`).FindAllSubmatch(rendered, -1)
	if len(asked) == 0 {
		t.Fatalf("no image in\n%s", rendered)
	}
	calls, err := publish(t, "")
	if err != nil {
		t.Fatal(err)
	}
	builds := calling(calls, "docker buildx build ")
	if len(builds) != 2 {
		t.Fatalf("%d builds in %q, want the node's image and the emulated node's", len(builds), calls)
	}
	if !strings.Contains(builds[1], " --tag "+testRepository+"/emulated:"+testVersion+" ") {
		t.Errorf("the emulated node's image is pushed by %q", builds[1])
	}
	pushed := regexp.MustCompile(` --tag (\S+)`).FindStringSubmatch(builds[0])
	if len(pushed) == 0 {
		t.Fatalf("no tag in %q", builds[0])
	}
	for _, match := range asked {
		if got := strings.Trim(string(match[1]), `"`); got != pushed[1] || got != released {
			t.Errorf("the chart asks for %s, pushed is %s, want %s", got, pushed[1], released)
		}
	}
}

// The builder is made for the image, used, and removed, whether or not the build succeeds.
func TestImageHasABuilderOfItsOwn(t *testing.T) {
	for name, exit := range map[string]string{"succeeds": "0", "fails": "1"} {
		t.Run(name, func(t *testing.T) {
			calls, err := publish(t, "", "BUILD_FAILS="+exit)
			if (err != nil) != (exit != "0") {
				t.Fatal(err)
			}
			made := regexp.MustCompile(`docker buildx create --name (\S+) --driver docker-container --platform windows/amd64`).
				FindStringSubmatch(strings.Join(calls, "\n"))
			if made == nil {
				t.Fatalf("no builder in %q", calls)
			}
			if len(calling(calls, "docker buildx build --builder "+made[1]+" ")) != 1 ||
				len(calling(calls, "docker buildx rm "+made[1])) != 1 {
				t.Errorf("the builder %s is not used or not removed: %q", made[1], calls)
			}
			if drafts := calling(calls, "gh release create "); (len(drafts) == 1) != (exit == "0") {
				t.Errorf("releases: %q", drafts)
			}
		})
	}
}

// The workflow attests what was pushed, so it is told the digests of the two images and of the chart.
func TestDigestsOfWhatWasPushed(t *testing.T) {
	output := filepath.Join(t.TempDir(), "output")
	calls, err := publish(t, "", "GITHUB_OUTPUT="+output)
	if err != nil {
		t.Fatal(err)
	}
	zeros := strings.Repeat("0", 63)
	want := "image=sha256:" + zeros + "2\nemulated=sha256:" + zeros + "2\nchart=sha256:" + zeros + "3\n"
	if got := string(license(t, output)); got != want {
		t.Errorf("the workflow is told\n%swant\n%s", got, want)
	}
	if len(calling(calls, "helm push dist/csi-proxy-chart-1.2.3.tgz oci://"+testRepository+"/charts")) != 1 {
		t.Errorf("the chart is not pushed: %q", calls)
	}
}

// A second run replaces drafts, and does not touch what is published.
func TestPublishAgain(t *testing.T) {
	for _, test := range []struct {
		name, releases string
		deleted        []string
		refused        bool
	}{
		{"the first time", "", nil, false},
		{"a draft", "7 true\n", []string{"7"}, false},
		{"two drafts", "7 true\n8 true\n", []string{"7", "8"}, false},
		{"published", "7 false\n", nil, true},
		{"published, and a draft", "7 true\n8 false\n", nil, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			calls, err := publish(t, test.releases)
			if (err != nil) != test.refused {
				t.Fatalf("%v, calls %q", err, calls)
			}
			var deleted []string
			for _, call := range calling(calls, "gh api --method DELETE repos/{owner}/{repo}/releases/") {
				deleted = append(deleted, call[strings.LastIndex(call, "/")+1:])
			}
			if got, want := strings.Join(deleted, " "), strings.Join(test.deleted, " "); got != want {
				t.Errorf("deleted are %q, want %q", got, want)
			}
			changes := len(calling(calls, "docker")) + len(calling(calls, "gh release"))
			if test.refused && changes > 0 {
				t.Errorf("something changed: %q", calls)
			}
			if created := calling(calls, "gh release create "+testVersion+" --draft --verify-tag"); len(created) != 1 &&
				!test.refused {
				t.Errorf("no draft is made: %q", calls)
			}
		})
	}
}
