// SPDX-License-Identifier: Apache-2.0

// The conventions of this repository that a test can check.
package conventions_test

import (
	"go/parser"
	"go/token"
	"go/version"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// goList runs go list without the workspace, for a system, and returns the words that it prints.
func goList(t *testing.T, goos string, arguments ...string) []string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", append([]string{"list"}, arguments...)...)
	list.Env = append(os.Environ(), "GOOS="+goos, "GOWORK=off")
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.Fields(string(out))
}

// goFiles returns the hand-written and generated Go files of the repository, by folder.
func goFiles(t *testing.T) map[string][]string {
	t.Helper()
	folders := map[string][]string{}
	for _, file := range ownFiles(t) {
		if strings.HasSuffix(file, ".go") {
			folders[filepath.Dir(file)] = append(folders[filepath.Dir(file)], file)
		}
	}
	return folders
}

// ownFiles returns the files of the repository without test data, hidden folders and whatever is built or run here.
func ownFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "testdata" || path != "." && strings.HasPrefix(entry.Name(), ".") ||
			path == "bin" || path == "state") {
			return fs.SkipDir
		}
		if !entry.IsDir() {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestEveryFolderHasOnePackageComment(t *testing.T) {
	inRoot(t)
	for folder, files := range goFiles(t) {
		comments, packages := 0, map[string]bool{}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") && folder != "." {
				continue
			}
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			packages[parsed.Name.Name] = true
			if strings.TrimSpace(parsed.Doc.Text()) != "" { // a directive is none
				comments++
			}
		}
		if len(packages) > 0 && comments != 1 {
			t.Errorf("%s has %d package comments, want one", folder, comments)
		}
	}
}

func TestEveryGoFileNamesItsLicence(t *testing.T) {
	inRoot(t)
	for _, files := range goFiles(t) {
		for _, file := range files {
			content := read(t, file)
			generated := strings.Contains(content[:min(len(content), 2000)], "DO NOT EDIT")
			if !generated && !strings.HasPrefix(content, "// SPDX-License-Identifier: Apache-2.0\n\n") {
				t.Errorf("%s does not begin with the licence line", file)
			}
		}
	}
}

// Go keeps the licence of a vendored module if it is in the module's own folder.
func TestModulesOfDriversHaveTheLicence(t *testing.T) {
	inRoot(t)
	want := read(t, "LICENSE")
	for _, module := range []string{"client", "csisanity", "mounter", "v2"} {
		if read(t, filepath.Join(module, "LICENSE")) != want {
			t.Errorf("the licence of the module %s is not that of the repository", module)
		}
	}
}

// A replace of a third-party module would apply to us and not to those who import us.
func TestReplaceOnlyOwnModules(t *testing.T) {
	inRoot(t)
	for _, module := range modules(t) {
		file := filepath.Join(module, "go.mod")
		content := read(t, file)
		for line := range strings.Lines(content) {
			line = strings.TrimPrefix(strings.TrimSpace(line), "replace ")
			old, by, ok := strings.Cut(line, " => ")
			if ok && (!strings.HasPrefix(old+"/", "github.com/kubernetes-csi/csi-proxy/") || !strings.HasPrefix(by, "./") &&
				!strings.HasPrefix(by, "../")) {
				t.Errorf("%s replaces %s by %s", file, old, by)
			}
		}
	}
}

// Drivers import these modules, and minimal version selection makes them take at least what the go.mod files name.
// These are the versions of csi-driver-smb v1.20.3, which asks for the oldest of the drivers that we read. make
// check-floor builds the modules with their go.mod's versions, and the workspace, thus make test, has to select newer
// ones.
func TestDriversNeedNothingNew(t *testing.T) {
	inRoot(t)
	highest := map[string]map[string]string{
		"client": {"go": "1.25.0", "google.golang.org/grpc": "1.79.3", "google.golang.org/protobuf": "1.36.10",
			"golang.org/x/net": "0.56.0", "golang.org/x/sys": "0.46.0", "github.com/Microsoft/go-winio": "0.6.2"},
		"mounter": {"go": "1.25.0", "google.golang.org/grpc": "1.79.3", "google.golang.org/protobuf": "1.36.10",
			"golang.org/x/net": "0.56.0", "golang.org/x/sys": "0.46.0", "github.com/Microsoft/go-winio": "0.6.2",
			"k8s.io/mount-utils": "0.32.0", "k8s.io/klog/v2": "2.130.1"},
	}
	for module, versions := range highest {
		content := read(t, filepath.Join(module, "go.mod"))
		for name, most := range versions {
			needed := regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(name) + ` v?([0-9.]+)\b`).FindStringSubmatch(content)
			if len(needed) != 2 {
				t.Errorf("%s/go.mod does not name a version of %s", module, name)
			} else if version.Compare("go"+needed[1], "go"+most) > 0 { // a Go version is compared number by number, too
				t.Errorf("%s/go.mod needs %s %s; drivers have %s", module, name, needed[1], most)
			}
		}
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}}", "google.golang.org/grpc")
	out, err := list.Output()
	selected := strings.TrimPrefix(strings.TrimSpace(string(out)), "v")
	if err != nil || version.Compare("go"+selected, "go"+highest["client"]["google.golang.org/grpc"]) <= 0 {
		t.Errorf("the workspace selects gRPC %s (%v), so that no test has a newer one than drivers do", selected, err)
	}
}

// modules returns the folders of the repository's modules, from the workspace. The Makefile has the same list.
func modules(t *testing.T) []string {
	t.Helper()
	workspace := read(t, "go.work")
	var folders []string
	for line := range strings.Lines(workspace) {
		if folder := strings.TrimSpace(line); strings.HasPrefix(folder, ".") {
			folders = append(folders, path.Clean(folder)) // with slashes on every host, as the Makefile has them
		}
	}
	makefile := read(t, "Makefile")
	if list := "\nMODULES := " + strings.Join(folders, " ") + "\n"; !strings.Contains(makefile, list) {
		t.Errorf("the Makefile does not go through the workspace's modules: it lacks %q", list)
	}
	return folders
}

// The workflows install one version of Go and download no other: it must suffice for every module, the tools' included.
func TestWorkflowsHaveAGoForEveryModule(t *testing.T) {
	inRoot(t)
	workflows, err := filepath.Glob(filepath.Join(".github", "workflows", "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	installed := ""
	for _, file := range workflows {
		content := read(t, file)
		for _, line := range regexp.MustCompile(`(?m)^[ -]*go-version.*$`).FindAllString(content, -1) {
			exact := regexp.MustCompile(`^[ -]*go-version: "([0-9.]+)"\s*(?:#.*)?$`).FindStringSubmatch(line)
			if len(exact) != 2 || !version.IsValid("go"+exact[1]) {
				t.Errorf(`%s has %q, want go-version: "X", the version itself`, file, strings.TrimSpace(line))
				continue
			}
			if installed == "" {
				installed = exact[1]
			}
			if exact[1] != installed {
				t.Errorf("%s installs Go %s, another workflow or job %s", file, exact[1], installed)
			}
		}
	}
	if installed == "" {
		t.Fatal("no workflow names the Go that it installs")
	}
	goLine, modules := regexp.MustCompile(`(?m)^go ([^\s/]+)`), 0
	for _, file := range ownFiles(t) {
		if name := filepath.Base(file); name != "go.mod" && name != "go.work" {
			continue
		}
		content := read(t, file)
		modules++
		needed := goLine.FindStringSubmatch(content)
		if len(needed) != 2 || !version.IsValid("go"+needed[1]) {
			t.Errorf("%s does not say which Go it needs", file)
		} else if version.Compare("go"+needed[1], "go"+installed) > 0 {
			t.Errorf("%s needs Go %s, the workflows install %s", file, needed[1], installed)
		}
	}
	if modules < 2 {
		t.Errorf("found %d files go.mod and go.work", modules)
	}
}

// A program that was built in the repository's folder, and not in bin, is committed with the next "all that changed".
func TestNoProgramIsCommitted(t *testing.T) {
	inRoot(t)
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z")
	out, err := list.Output()
	if err != nil {
		t.Skipf("not a clone, or without git: %v", err)
	}
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		if file, err := os.Stat(name); err == nil && file.Size() > 1<<20 {
			t.Errorf("%s has %d bytes; no source has a mebibyte", name, file.Size())
		}
	}
}

// TestNothingIsReportedToTheOriginal: the modules have the original's path until the project has an address of its own.
// URLs there are citations: of an issue, a pull request or a file at a version.
func TestNothingIsReportedToTheOriginal(t *testing.T) {
	inRoot(t)
	home := regexp.MustCompile(`https://github\.com/kubernetes-csi/csi-proxy(/(issues/new|issues/?$|blob/main|discussions|releases)|[\s)"]|$)`)
	for _, file := range ownFiles(t) {
		content := read(t, file)
		if strings.Contains(content, "\x00") {
			continue // not text
		}
		for number, line := range strings.Split(content, "\n") {
			if home.MatchString(line) {
				t.Errorf("%s:%d sends readers to the original: %s", file, number+1, line)
			}
		}
	}
}

// The targets that the README's first lines promise must exist.
func TestReadmeCommandsExist(t *testing.T) {
	inRoot(t)
	makefile := read(t, "Makefile")
	targets := strings.Split(makefile, "\n")
	for _, target := range []string{"run", "test"} {
		if !slices.ContainsFunc(targets, func(line string) bool { return strings.HasPrefix(line, target+":") }) {
			t.Errorf("the Makefile has no target %s", target)
		}
	}
}
