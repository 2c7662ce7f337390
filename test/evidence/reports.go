// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/kubernetes-csi/csi-proxy/internal/proof"
)

// A report is what one of csi-proxy-prove shows about methods.
type report struct {
	*proof.Report
	file string
	held map[string]bool // by "group version Method": every life on the machine itself that used it held
}

// readReports reads the reports of Windows machines, oldest first. Others say nothing about Windows.
func readReports(dir fs.FS) (all []report, err error) {
	names, err := fs.Glob(dir, "reports/*.json*")
	if err != nil {
		return nil, err
	}
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
		one := report{r, name, map[string]bool{}}
		for _, p := range r.Parts {
			for _, c := range p.Checks {
				for method, how := range c.Methods {
					if strings.HasPrefix(p.Name, "lives") && how == "proved" {
						before, seen := one.held[method]
						one.held[method] = c.Verdict == proof.Held && (before || !seen)
					}
				}
			}
		}
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b report) int { return a.Begun.Compare(b.Begun) })
	return all, nil
}

// onWindows returns the Windows column: for each method L and the builds on which it held, 20348 of 10.0.20348.2340.
func onWindows(all []report) map[string]string {
	column := map[string]string{}
	for _, r := range all {
		parts := strings.Split(r.Machine.Build, ".")
		build := parts[min(2, len(parts)-1)]
		for method, held := range r.held {
			if !held || slices.Contains(strings.Fields(column[method]), build) {
				continue
			}
			if column[method] == "" {
				column[method] = "L"
			}
			column[method] += " " + build
		}
	}
	return column
}

// run returns the report's row in the table of runs.
func (r report) run(total int) run {
	count := 0
	for _, held := range r.held {
		if held {
			count++
		}
	}
	m := r.Machine
	return run{"Windows", fmt.Sprintf("%d of %d", count, total), r.Begun.UTC().Format("2006-01-02"), r.Kit.Version,
		m.Product + " " + m.Build + ", " + m.Architecture, "[csi-proxy-prove](evidence/" + r.file + ")"}
}
