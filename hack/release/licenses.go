// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// unknown stands for a text that is no licence known to SPDX, or one with more to it.
const unknown = "unknown"

// allowList are the licences of what may be linked: those that ask for no more than that their text goes along, which
// THIRD_PARTY_NOTICES.txt sees to.
func allowList() []string {
	return []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"}
}

// leastPercent is how much of a licence's text has to be recognised: the rest are names and years.
const leastPercent = 75

// licenses are the names of the licences that a text consists of. Notices and patent grants are none: they only go along.
func (t text) licenses() []string {
	if base := strings.ToLower(path.Base(t.name)); strings.HasPrefix(base, "notice") || base == "patents" {
		return nil
	}
	coverage := licensecheck.Scan(t.content)
	if coverage.Percent < leastPercent || len(coverage.Match) == 0 {
		return []string{unknown}
	}
	var names []string
	for _, m := range coverage.Match {
		if !m.IsURL && !slices.Contains(names, m.ID) {
			names = append(names, m.ID)
		}
	}
	if len(names) == 0 {
		return []string{unknown}
	}
	return names
}

// allowed fails when a module's licence is not on the list, or cannot be found.
func allowed(modules []linked) error {
	var errs []error
	for _, m := range modules {
		if len(m.licenses) == 0 {
			errs = append(errs, fmt.Errorf("%s %s: no licence is found", m.path, m.version))
		}
		for _, name := range m.licenses {
			if !slices.Contains(allowList(), name) {
				errs = append(errs, fmt.Errorf("%s %s: the licence %s is not one of %s", m.path, m.version, name, strings.Join(allowList(), ", ")))
			}
		}
	}
	return errors.Join(errs...)
}

// checkLicenses checks what the commands link on each system, and what those get who import the modules.
func (r *release) checkLicenses(ctx context.Context) error {
	workspace, err := os.ReadFile(filepath.Join(r.root, "go.work"))
	if err != nil {
		return err
	}
	importable := importable(workspace)
	known := map[string]linked{}
	var errs []error
	check := func(dir string, t target, packages ...string) {
		modules, err := linkedModules(ctx, filepath.Join(r.root, dir), t, packages...)
		errs = append(errs, err, allowed(modules))
		for _, m := range modules {
			known[m.path] = m
		}
	}
	for _, t := range []target{{"windows", "amd64"}, {"linux", "amd64"}} {
		check(".", t, "./cmd/csi-proxy", "./cmd/csi-proxyctl", "./csiproxytest", "./inprocess")
		for _, dir := range importable {
			check(dir, t, "./...")
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	count := map[string]int{}
	for _, m := range known {
		if !m.own {
			count[strings.Join(m.licenses, " and ")]++
		}
	}
	var lines []string
	for names, n := range count {
		lines = append(lines, fmt.Sprintf("%4d %s", n, names))
	}
	slices.Sort(lines)
	_, _ = fmt.Fprintf(r.log, "The licences of all linked modules are on the list:\n%s\n", strings.Join(lines, "\n"))
	return nil
}

// importable are the folders of the workspace's modules, but for the root and the tests.
func importable(workspace []byte) (folders []string) {
	for line := range strings.Lines(string(workspace)) {
		if folder, ok := strings.CutPrefix(strings.TrimSpace(line), "./"); ok && !strings.HasPrefix(folder, "test/") {
			folders = append(folders, folder)
		}
	}
	return folders
}

// notices are the texts that go along with the binaries.
func notices(modules []linked) []byte {
	var b bytes.Buffer
	b.WriteString("csi-proxy and csi-proxyctl contain the following software, each under the licence that follows its name.\n")
	for _, m := range modules {
		if m.own {
			continue
		}
		for _, t := range m.texts {
			fmt.Fprintf(&b, "\n%s\n%s %s: %s\n\n%s\n", strings.Repeat("=", 80), m.path, m.version, t.name, bytes.TrimSpace(t.content))
		}
	}
	return b.Bytes()
}
