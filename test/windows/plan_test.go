// SPDX-License-Identifier: Apache-2.0

package windows

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/internal/testing/testnode"
)

// A role of Windows is installed only where the machine's owner allows changes of its settings.
func TestScriptInstallsOnlyWithSettings(t *testing.T) {
	if testnode.OnWine() {
		t.Skip("require the sources of other packages")
	}
	content, err := os.ReadFile("run.ps1")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile(`(?m)^ *#.*$`).ReplaceAllString(string(content), "")
	before, rest, found := strings.Cut(code, "\nfunction Install-TargetServer {\n")
	function, after, ended := strings.Cut(rest, "\n}\n")
	if !found || !ended || !strings.Contains(function, " Install-WindowsFeature ") {
		t.Fatal("run.ps1 has no function that installs the target server")
	}
	calls := strings.Count(after, "\n    if ($Settings) { Install-TargetServer }\n")
	if outside := before + after; calls != 1 || strings.Count(outside, "Install-TargetServer") != 1 ||
		strings.Contains(outside, "Install-WindowsFeature") {
		t.Error("run.ps1 installs something without -Settings, or nothing with it")
	}
}

// A pattern of the plan, or of run.ps1, that no test matches would run nothing and succeed.
func TestPlannedTestsExist(t *testing.T) {
	if testnode.OnWine() {
		t.Skip("require the sources of other packages")
	}
	read := func(path string) string {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	rows := [][]string{}
	for line := range strings.Lines(read("plan.txt")) {
		if fields := strings.Fields(line); fields[0] != "#" {
			rows = append(rows, fields)
		}
	}
	for _, m := range regexp.MustCompile(`test-windows\.test\.exe'\).*'-test\.run=(.*)'`).
		FindAllStringSubmatch(read("run.ps1"), -1) {
		rows = append(rows, []string{"run.ps1", "test/windows", m[1]})
	}
	if len(rows) < 5 || rows[len(rows)-1][0] != "run.ps1" {
		t.Fatalf("the plan is %q", rows)
	}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	for _, row := range rows {
		files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(row[1]), "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		names := []string{}
		for _, file := range files {
			for _, m := range function.FindAllStringSubmatch(read(file), -1) {
				names = append(names, m[1])
			}
		}
		tests, _, _ := strings.Cut(row[2], "/")
		for name := range strings.SplitSeq(strings.Trim(tests, "^()$"), "|") {
			pattern := regexp.MustCompile(name)
			if !pattern.MatchString(strings.Join(names, "\n")) {
				t.Errorf("%s: %s has no test %s", row[0], row[1], name)
			}
		}
	}
}
