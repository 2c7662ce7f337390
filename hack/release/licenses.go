// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/licensecheck"
)

// unknown stands for a text that is not a licence known to SPDX, or contains too much other text.
const unknown = "unknown"

// allowList returns the licences that linked code may have: those that only demand that their text is distributed too,
// which THIRD_PARTY_NOTICES.txt does.
func allowList() []string {
	return []string{"Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "ISC", "MIT"}
}

// leastPercent is how much of a licence's text must be recognised: the rest is names and years.
const leastPercent = 75

// licenses returns the names of the licences that a text consists of. Notices and patent grants do not count: they only
// accompany a licence.
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

// allowed returns an error if a module's licence is not on the list, or cannot be found.
func allowed(modules []linked) error {
	var errs []error
	for _, m := range modules {
		if len(m.licenses) == 0 {
			errs = append(errs, fmt.Errorf("%s %s: no licence found", m.path, m.version))
		}
		for _, name := range m.licenses {
			if !slices.Contains(allowList(), name) {
				errs = append(errs, fmt.Errorf("%s %s: the licence %s is not one of %s", m.path, m.version, name,
					strings.Join(allowList(), ", ")))
			}
		}
	}
	return errors.Join(errs...)
}

// materials returns the licence texts and the bill of materials of what packages link for a target, all with allowed
// licences.
func (r *release) materials(ctx context.Context, t target, packages ...string) (texts, materials []byte, err error) {
	linked, err := linkedModules(ctx, r.root, t, packages...)
	if err == nil {
		err = allowed(linked)
	}
	if err != nil {
		return nil, nil, err
	}
	materials, err = bill(r.version, r.time, t, linked)
	return notices(linked), materials, err
}

// checkLicenses checks the modules that the commands link on each system, and those that importers of our modules get.
func (r *release) checkLicenses(ctx context.Context) error {
	modules, err := command(ctx, r.root, []string{"GOWORK="}, "go", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return err
	}
	known := map[string]bool{}
	var errs []error
	for _, t := range []target{{"windows", "amd64"}, {"linux", "amd64"}} {
		for i, dir := range strings.Split(strings.TrimSpace(string(modules)), "\n") {
			packages := []string{"./..."}
			if i == 0 { // the root, which go.work lists first
				packages = []string{"./cmd/csi-proxy", "./cmd/csi-proxy-emulated", commandLine,
					"./csiproxytest", "./inprocess"}
			} else if filepath.Base(dir) == "test" || filepath.Base(filepath.Dir(dir)) == "test" {
				continue // no program imports it
			}
			linked, err := linkedModules(ctx, dir, t, packages...)
			errs = append(errs, err, allowed(linked))
			for _, m := range linked {
				known[m.path] = true
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	_, _ = fmt.Fprintf(r.log, "The licences of all %d linked modules are on the list.\n", len(known))
	return nil
}

// notices returns the texts that accompany the binaries.
func notices(modules []linked) []byte {
	var b bytes.Buffer
	b.WriteString("The programs contain the following software, each under the licence that follows its name.\n")
	for _, m := range modules {
		if m.own {
			continue
		}
		for _, t := range m.texts {
			fmt.Fprintf(&b, "\n%s\n%s %s: %s\n\n%s\n", strings.Repeat("=", 80), m.path, m.version, t.name,
				bytes.TrimSpace(t.content))
		}
	}
	return b.Bytes()
}
