// SPDX-License-Identifier: Apache-2.0

package hostile

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kubernetes-csi/csi-proxy/test/caller"
)

// docs/security.md names a test for each attack: each test exists.
func TestSecurityPageNamesRealTests(t *testing.T) {
	tests := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	root := filepath.Join("..", "..")
	caller.OK(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(source), -1) {
			tests[m[1]] = true
		}
		return err
	}))
	page, err := os.ReadFile(filepath.Join(root, "docs", "security.md"))
	caller.OK(t, err)
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)(…?)`").FindAllStringSubmatch(string(page), -1)
	if len(named) < 20 {
		t.Errorf("the page names only %d tests", len(named))
	}
	for _, m := range named {
		known := tests[m[1]]
		if m[2] != "" { // the beginning of several
			known = slices.ContainsFunc(slices.Collect(maps.Keys(tests)),
				func(name string) bool { return strings.HasPrefix(name, m[1]) })
		}
		if !known {
			t.Errorf("there is no %s%s", m[1], m[2])
		}
	}
}
