// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/proof"
)

// readReports returns what the reports of csi-proxy-prove on Windows machines show, by the files' names, which begin
// with the date. Others say nothing about Windows.
func readReports(dir fs.FS) (all []record, err error) {
	names, err := fs.Glob(dir, "reports/*.json*")
	for _, name := range names {
		content, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, err
		}
		r, err := proof.Read(bytes.NewReader(content))
		if err == nil && r.Machine.System != proof.Windows {
			err = errors.New("it is not a report of Windows")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		m := r.Machine
		all = append(all, record{Level: "windows", Date: r.Begun.UTC().Format("2006-01-02"), Commit: r.Kit.Version,
			System: m.Product + " " + m.Build + ", " + m.Architecture, Command: "[csi-proxy-prove](evidence/" + name + ")",
			Methods: heldIn(r)})
	}
	return all, err
}

// heldIn returns the methods for which every life that used them held, each with the build: 20348 of 10.0.20348.2340.
func heldIn(r *proof.Report) map[string]string {
	parts := strings.Split(r.Machine.Build, ".")
	build := parts[min(2, len(parts)-1)]
	used, failed := map[string]string{}, map[string]bool{}
	for _, p := range r.Parts {
		for _, c := range p.Checks {
			for method, how := range c.Methods {
				if strings.HasPrefix(p.Name, "lives") && how == "proved" {
					used[method], failed[method] = build, failed[method] || c.Verdict != proof.Held
				}
			}
		}
	}
	maps.DeleteFunc(used, func(method, _ string) bool { return failed[method] })
	return used
}

// onWindows returns the Windows column: for each method L and the builds on which it held.
func onWindows(reports []record) map[string]string {
	column := map[string]string{}
	for _, r := range reports {
		for method, build := range r.Methods {
			if !slices.Contains(strings.Fields(column[method]), build) {
				column[method] = cmp.Or(column[method], "L") + " " + build
			}
		}
	}
	return column
}
